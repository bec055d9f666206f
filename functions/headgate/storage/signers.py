"""Signers of URLs, one for each kind of storage."""

import posixpath
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from headgate.errors import UnsignablePath
from headgate.storage.credentials import CredentialSource
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.keys import relative_keys, split_scheme
from headgate.storage.options import LocalEndpoint
from headgate.storage.sigv4 import PresignBatch

# A segment that a file system or an HTTP client would drop: `//`, `/./`, `/../`.
_DROPPED_SEGMENT = re.compile(rb"(?:^|/)\.{0,2}(?:/|$)")
LOCAL_REGION = "local"
"""The region in the scope of signatures for local files."""


class _PresigningSigner(ABC):
    """Signs by SigV4 the objects below one prefix of one bucket, and absolute ones elsewhere.

    Credentials are asked for on every call, and no signing key outlives it.
    """

    def __init__(
        self, bucket: str, prefix: str, endpoint: S3Endpoint, credentials: CredentialSource
    ) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._endpoint = endpoint
        self._credentials = credentials

    def sign(self, paths: Sequence[str], ttl_s: int) -> tuple[list[bytes], int]:
        """As `storage.base.UrlSigner.sign`; UnsignablePath for a path that is none of ours."""
        now_ms = time.time_ns() // 1_000_000
        credentials = self._credentials()

        def batch(bucket: str, prefix: str) -> PresignBatch:
            return PresignBatch(
                credentials, self._endpoint, bucket, now_ms=now_ms, ttl_s=ttl_s, prefix=prefix
            )

        own = batch(self._bucket, self._prefix)
        keys = relative_keys(paths)
        if keys is not None and self._plain(keys):
            return own.sign_encoded(keys), own.expires_at_ms
        places: dict[str, list[tuple[int, str]]] = {}
        for index, path in enumerate(paths):
            bucket, key = self._place(unquote(path))
            places.setdefault(bucket, []).append((index, key))
        urls = [b""] * len(paths)
        for bucket, placed in places.items():
            signed = batch(bucket, "").urls([key for _, key in placed])
            for (index, _), url in zip(placed, signed, strict=True):
                urls[index] = url
        return urls, own.expires_at_ms

    def _plain(self, keys: Sequence[bytes]) -> bool:
        """Whether relative keys, percent-encoded, only need the prefix before them."""
        return True

    @abstractmethod
    def _place(self, path: str) -> tuple[str, str]:
        """Bucket and key of a decoded path of the log."""


class S3UrlSigner(_PresigningSigner):
    """Signs a table's objects in S3. Absolute paths may name other buckets (shallow clones)."""

    def _place(self, path: str) -> tuple[str, str]:
        scheme, rest = split_scheme(path)
        if scheme == "s3":
            bucket, _, key = rest.partition("/")
            if bucket and key:
                return bucket, key
        elif scheme is None:
            # An absolute path without a scheme is of the table's own file system (Hadoop's Path).
            key = rest.removeprefix("/") if rest.startswith("/") else self._prefix + rest
            return self._bucket, key
        raise UnsignablePath(f"cannot sign a path of scheme {scheme!r} for a table in S3")


class LocalUrlSigner(_PresigningSigner):
    """Signs a table's files for the local endpoint: `{url}/{bucket}/{key}`, path style.

    The bucket is an opaque name for the table's root, so URLs of its files tell nothing of where
    that is. Files elsewhere, named by absolute paths, are in the bucket of `/`.
    """

    def __init__(self, root: Path, endpoint: LocalEndpoint) -> None:
        self._root = root
        self._buckets = endpoint.buckets
        super().__init__(
            endpoint.buckets.add(root),
            "",
            S3Endpoint(LOCAL_REGION, endpoint.url, force_path_style=True),
            endpoint.credentials,
        )

    def _plain(self, keys: Sequence[bytes]) -> bool:
        return not any(map(_DROPPED_SEGMENT.search, keys))

    def _place(self, path: str) -> tuple[str, str]:
        scheme, rest = split_scheme(path)
        if scheme not in (None, "file"):
            raise UnsignablePath(f"cannot sign a path of scheme {scheme!r} for a local table")
        full = Path(posixpath.normpath(self._root / rest))
        if full.is_relative_to(self._root):
            return self._bucket, str(full.relative_to(self._root))
        return self._buckets.add(Path("/")), str(full).lstrip("/")
