"""Objects of S3 and of whatever speaks its protocol."""

import contextlib
import datetime
import threading
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import obstore.exceptions
from obstore.store import S3Store

from headgate.errors import ObjectNotFound, PreconditionFailed, StorageError
from headgate.storage.base import ObjectInfo
from headgate.storage.credentials import Credentials, CredentialSource, chain_region
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.options import StorageOptions
from headgate.storage.rangefile import open_ranges
from headgate.storage.remote import NO_RETRIES, RETRIES, RemoteObjectStore, checked_range

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Credential

_TIMEOUT = datetime.timedelta(seconds=120)  # for a whole answer; obstore's default is 30 s
# How long obstore may keep credentials whose end is not known before it asks again.
_RECHECK = datetime.timedelta(minutes=15)


def s3_endpoint(options: StorageOptions) -> S3Endpoint:
    """The endpoint that the options describe, with boto3's region where they name none."""
    region = options.region or chain_region() or "us-east-1"
    return S3Endpoint(region, options.endpoint_url, options.force_path_style)


class S3ObjectStore:
    """An ObjectStore over a bucket and a prefix (without leading or trailing slash).

    Through obstore wherever it can name the key. It cannot where a key has empty, `.` or `..`
    segments or control characters; those few are read and written through boto3.
    """

    def __init__(self, bucket: str, prefix: str, options: StorageOptions) -> None:
        self.url = f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"
        endpoint = s3_endpoint(options)
        self._plain_prefix = _obstore_names(prefix) if prefix else True
        self._exact = _ExactStore(self.url, bucket, prefix, endpoint, options.credentials)
        self._store = (
            _obstore_store(self.url, bucket, prefix, endpoint, options.credentials)
            if self._plain_prefix
            else None
        )

    def get(self, key: str) -> bytes:
        return self._for(key).get(key)

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        return self._for(key).get_tagged(key)

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return self._for(key).get_ranges(key, ranges)

    def open(self, key: str) -> IO[bytes]:
        return self._for(key).open(key)

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[ObjectInfo]:
        prefix = prefix.strip("/")
        plain = all(_obstore_names(name) for name in (prefix, after) if name)
        if self._store is None or not plain:
            yield from self._exact.list(prefix, after)
            return
        try:
            for info in self._store.list(prefix, after):
                yield info
                after = info.key
        except StorageError as error:
            if not isinstance(error.__cause__, obstore.exceptions.InvalidPathError):
                raise
            # The listing holds a key that obstore cannot name: go on from the last that it could.
            yield from self._exact.list(prefix, after)

    def put(self, key: str, body: bytes) -> str:
        return self._for(key).put(key, body)

    def put_if_absent(self, key: str, body: bytes) -> str:
        return self._for(key).put_if_absent(key, body)

    def put_if_match(self, key: str, body: bytes, tag: str) -> str:
        return self._for(key).put_if_match(key, body, tag)

    def delete(self, key: str) -> None:
        self._for(key).delete(key)

    def _for(self, key: str) -> "RemoteObjectStore | _ExactStore":
        return self._store if self._store is not None and _obstore_names(key) else self._exact


def _obstore_names(key: str) -> bool:
    """Whether obstore's path of the key is the key itself."""
    return key.isprintable() and not any(part in ("", ".", "..") for part in key.split("/"))


def _obstore_store(
    url: str, bucket: str, prefix: str, endpoint: S3Endpoint, credentials: CredentialSource
) -> RemoteObjectStore:
    def provide() -> "S3Credential":
        found = credentials()
        expires = datetime.datetime.now(datetime.UTC) + _RECHECK
        if found.expires_at_ms is not None:
            end = datetime.datetime.fromtimestamp(found.expires_at_ms / 1000, datetime.UTC)
            expires = min(expires, end)
        return {
            "access_key_id": found.access_key_id,
            "secret_access_key": found.secret_access_key,
            "token": found.session_token,
            "expires_at": expires,
        }

    virtual = endpoint.virtual_host(bucket)
    config: S3Config = {"region": endpoint.region, "virtual_hosted_style_request": virtual}
    if endpoint.url is not None:
        # In virtual-host style obstore takes the endpoint to be the bucket's own.
        address = endpoint.address(bucket)
        config["endpoint"] = address.origin + address.path.removesuffix(
            "" if virtual else f"/{bucket}"
        )
    client: ClientConfig = {
        "timeout": _TIMEOUT,
        "connect_timeout": datetime.timedelta(seconds=10),
        "allow_http": (endpoint.url or "").startswith("http://"),
    }

    def store(retries: "RetryConfig") -> S3Store:
        return S3Store(
            bucket,
            prefix=prefix or None,
            config=config,
            client_options=client,
            credential_provider=provide,
            retry_config=retries,
        )

    return RemoteObjectStore(url, store(RETRIES), store(NO_RETRIES))


class _ExactStore:
    """The same objects through boto3, which takes every key as it is."""

    def __init__(
        self,
        url: str,
        bucket: str,
        prefix: str,
        endpoint: S3Endpoint,
        credentials: CredentialSource,
    ) -> None:
        self.url = url
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._endpoint = endpoint
        self._credentials = credentials
        self._lock = threading.Lock()
        self._client_of: tuple[Credentials, S3Client] | None = None

    def get(self, key: str) -> bytes:
        return self.get_tagged(key)[0]

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        with _mapped(key):
            answer = self._client().get_object(Bucket=self._bucket, Key=self._prefix + key)
            return answer["Body"].read(), answer["ETag"]

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self._range(key, offset, length) for offset, length in ranges]

    def open(self, key: str) -> IO[bytes]:
        with _mapped(key):
            answer = self._client().head_object(Bucket=self._bucket, Key=self._prefix + key)
        return open_ranges(
            lambda offset, length: self._range(key, offset, length), answer["ContentLength"]
        )

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[ObjectInfo]:
        request: dict[str, Any] = {
            "Bucket": self._bucket,
            "Prefix": f"{self._prefix}{prefix}/" if prefix else self._prefix,
        }
        if after is not None:
            request["StartAfter"] = self._prefix + after
        with _mapped(prefix):
            for page in self._client().get_paginator("list_objects_v2").paginate(**request):
                for item in page.get("Contents", ()):
                    yield ObjectInfo(
                        item["Key"].removeprefix(self._prefix),
                        item["Size"],
                        int(item["LastModified"].timestamp() * 1000),
                    )

    def put(self, key: str, body: bytes) -> str:
        return self._put(key, body)

    def put_if_absent(self, key: str, body: bytes) -> str:
        return self._put(key, body, IfNoneMatch="*")

    def put_if_match(self, key: str, body: bytes, tag: str) -> str:
        try:
            return self._put(key, body, IfMatch=tag)
        except ObjectNotFound as error:
            raise PreconditionFailed(f"{key!r} is gone") from error

    def delete(self, key: str) -> None:
        with _mapped(key):
            self._client().delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def _put(self, key: str, body: bytes, **conditions: Any) -> str:
        with _mapped(key):
            answer = self._client().put_object(
                Bucket=self._bucket, Key=self._prefix + key, Body=body, **conditions
            )
            return answer["ETag"]

    def _range(self, key: str, offset: int, length: int) -> bytes:
        if length == 0:
            return b""
        with _mapped(key):
            answer = self._client().get_object(
                Bucket=self._bucket,
                Key=self._prefix + key,
                Range=f"bytes={offset}-{offset + length - 1}",
            )
            return checked_range(key, answer["Body"].read(), offset, length)

    def _client(self) -> "S3Client":
        """A client with the credentials of now; made anew only where they have changed."""
        import boto3
        from botocore.config import Config

        credentials = self._credentials()
        with self._lock:
            if self._client_of is None or self._client_of[0] != credentials:
                virtual = self._endpoint.virtual_host(self._bucket)
                client = boto3.client(
                    "s3",
                    region_name=self._endpoint.region,
                    endpoint_url=self._endpoint.url,
                    aws_access_key_id=credentials.access_key_id,
                    aws_secret_access_key=credentials.secret_access_key,
                    aws_session_token=credentials.session_token,
                    config=Config(
                        s3={
                            "addressing_style": "virtual" if virtual else "path",
                            "us_east_1_regional_endpoint": "regional",
                        }
                    ),
                )
                self._client_of = (credentials, client)
            return self._client_of[1]


@contextlib.contextmanager
def _mapped(key: str) -> Iterator[None]:
    """Gives botocore's exceptions as Headgate's."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        if status == 404:
            raise ObjectNotFound(f"no object {key!r}") from error
        if status in (409, 412):
            raise PreconditionFailed(f"{key!r} exists or has changed") from error
        raise StorageError(f"storage failed at {key!r}: {error}") from error
    except BotoCoreError as error:
        raise StorageError(f"storage failed at {key!r}: {error}") from error
