"""From a location to its store and its signer, by scheme."""

import os
import posixpath
from pathlib import Path

from headgate.errors import StorageError
from headgate.storage.base import ObjectStore, UrlSigner
from headgate.storage.keys import split_scheme
from headgate.storage.local import LocalObjectStore
from headgate.storage.options import StorageOptions

__all__ = ["StorageOptions", "normalise_location", "open_signer", "open_store"]

_SCHEMES = frozenset({"s3", "gs", "az", "abfs", "abfss"})
_SUPPORTED = "a path, file://, s3:// (s3a://, s3n://), gs://, az:// or abfss://"


def normalise_location(location: str, relative_to: Path) -> str:
    """The canonical root URL of a location: no trailing slash, one spelling of each scheme.

    A plain path is below `relative_to` unless absolute; `file:/x`, `file:///x` and `/x` are
    `file:///x`. Locations are not percent-decoded: they are names, as Hadoop's paths are.

    Raises StorageError where the scheme is none that Headgate serves, or no bucket is named.
    """
    location = location.strip()
    if location.lower().startswith("file://localhost/"):
        location = "file:///" + location[len("file://localhost/") :]
    elif location.lower().startswith("file://") and not location[7:].startswith("/"):
        raise StorageError(f"{location!r} names a host: write file:///path, or a path")
    scheme, rest = split_scheme(location)
    if scheme in (None, "file"):
        if not rest.strip():
            raise StorageError("a location is empty")
        path = posixpath.normpath(posixpath.join(os.path.abspath(relative_to), rest))  # noqa: PTH100 — resolve() would follow links
        return "file:///" + path.lstrip("/")
    if scheme not in _SCHEMES:
        raise StorageError(f"{location!r} is of no supported scheme: use {_SUPPORTED}")
    rest = rest.rstrip("/")
    if not rest or rest.startswith("/"):
        raise StorageError(f"{location!r} names no bucket")
    return f"{scheme}://{rest}"


def open_store(url: str, options: StorageOptions) -> ObjectStore:
    """The objects below a root. Raises StorageError where the location cannot be served."""
    url = normalise_location(url, Path.cwd())
    scheme, rest = split_scheme(url)
    if scheme == "file":
        return LocalObjectStore(Path(rest))
    if scheme == "s3":
        from headgate.storage.s3 import S3ObjectStore

        bucket, _, prefix = rest.partition("/")
        return S3ObjectStore(bucket, prefix, options)
    from headgate.storage.clouds import open_cloud_store

    return open_cloud_store(url)


def open_signer(table_root_url: str, options: StorageOptions) -> UrlSigner:
    """The signer of the files of a table, by its root.

    Raises StorageError for a local table where `options.local_endpoint` is None: nothing would
    answer its URLs.
    """
    url = normalise_location(table_root_url, Path.cwd())
    scheme, rest = split_scheme(url)
    if scheme == "file":
        from headgate.storage.signers import LocalUrlSigner

        if options.local_endpoint is None:
            raise StorageError("only the local server serves tables of local directories")
        return LocalUrlSigner(Path(rest), options.local_endpoint)
    if scheme == "s3":
        from headgate.storage.s3 import s3_endpoint
        from headgate.storage.signers import S3UrlSigner

        bucket, _, prefix = rest.partition("/")
        return S3UrlSigner(bucket, prefix, s3_endpoint(options), options.credentials)
    from headgate.storage.clouds import CloudUrlSigner

    return CloudUrlSigner(url)
