"""What Headgate asks of object storage, and of a signer of URLs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Protocol


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One listed object: its key below the store's root, size, and modification time."""

    key: str
    size_bytes: int
    modified_ms: int


class ObjectStore(Protocol):
    """Objects below one root (a directory, or a bucket and prefix). Keys are relative, with `/`.

    Every method raises ObjectNotFound where the key must exist and does not, and StorageError for
    anything else that storage answers. Instances are safe to use from several threads.
    """

    url: str
    """The root, for example `s3://bucket/prefix` or `file:///srv/index`."""

    def get(self, key: str) -> bytes: ...

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        """The object and its entity tag, for `put_if_match`."""
        ...

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each (offset, length): near ranges in one request, far ones in parallel.

        A range that reaches past the object's end is a StorageError, never a short answer.
        """
        ...

    def open(self, key: str) -> IO[bytes]:
        """A seekable binary file that reads ranges as they are asked for (for Parquet)."""
        ...

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[ObjectInfo]:
        """Objects of the directory `prefix` and of those below it, in key order (of UTF-8 bytes).

        `after` is a key: only later ones are given, and storage is asked for no others. Lazy: it
        fetches, and raises, as it is iterated. A directory that does not exist is an empty one.
        """
        ...

    def put(self, key: str, body: bytes) -> str:
        """Writes unconditionally; the new entity tag."""
        ...

    def put_if_absent(self, key: str, body: bytes) -> str:
        """Raises PreconditionFailed where the key exists. Gives the new entity tag."""
        ...

    def put_if_match(self, key: str, body: bytes, tag: str) -> str:
        """Raises PreconditionFailed where the object's tag is no longer `tag`, or it is gone."""
        ...

    def delete(self, key: str) -> None:
        """Deletes; no error where the key does not exist."""
        ...


class UrlSigner(Protocol):
    """Presigns GET URLs for the objects of one table."""

    def sign(self, paths: Sequence[str], ttl_s: int) -> tuple[list[bytes], int]:
        """One URL a path, and their expiry in ms since the epoch.

        `paths` are as written in the log: relative to the table's root and URL-encoded, or
        absolute (`s3://bucket/key`, `file:///…`, `/…`). URLs are ASCII bytes that need no escaping
        inside a JSON string.
        """
        ...
