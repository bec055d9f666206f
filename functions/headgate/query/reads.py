"""Counting what is read of an index, by kind of object."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from headgate.storage.base import ObjectInfo, ObjectStore

# By the ends of the names that `manifest.head` gives, in the order in which a query reads them.
_KINDS = (
    ("head.json", "head"),
    (".commits.arrow", "commits"),
    ("zones.arrow", "zone maps"),
    (".files.arrow", "tail"),
    (".prune.arrow", "bounds of files"),
    (".render.arrow", "answer fragments"),
)


@dataclass(frozen=True, slots=True)
class Reads:
    """Requests to storage for one kind of object, and the bytes that they asked for."""

    kind: str
    requests: int
    bytes: int


class CountingStore:
    """An ObjectStore that counts what is read through it. Ranges of one call are one request."""

    def __init__(self, store: ObjectStore) -> None:
        self.url = store.url
        self._store = store
        self._counts: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def reads(self) -> tuple[Reads, ...]:
        """What was read so far, in the order of a query."""
        with self._lock:
            counts = dict(self._counts)
        order = [kind for _, kind in _KINDS] + ["other"]
        return tuple(Reads(kind, *counts[kind]) for kind in order if kind in counts)

    def _count(self, key: str, size_bytes: int) -> None:
        kind = next((kind for end, kind in _KINDS if key.endswith(end)), "other")
        with self._lock:
            requests, total = self._counts.get(kind, (0, 0))
            self._counts[kind] = (requests + 1, total + size_bytes)

    def get(self, key: str) -> bytes:
        body = self._store.get(key)
        self._count(key, len(body))
        return body

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        body, tag = self._store.get_tagged(key)
        self._count(key, len(body))
        return body, tag

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        bodies = self._store.get_ranges(key, ranges)
        self._count(key, sum(len(body) for body in bodies))
        return bodies

    def open(self, key: str) -> IO[bytes]:
        return self._store.open(key)

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[ObjectInfo]:
        return self._store.list(prefix, after)

    def put(self, key: str, body: bytes) -> str:
        return self._store.put(key, body)

    def put_if_absent(self, key: str, body: bytes) -> str:
        return self._store.put_if_absent(key, body)

    def put_if_match(self, key: str, body: bytes, tag: str) -> str:
        return self._store.put_if_match(key, body, tag)

    def delete(self, key: str) -> None:
        self._store.delete(key)
