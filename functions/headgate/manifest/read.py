"""Reading of manifest objects: heads, zone maps, tails, and just the batches that are asked for."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from headgate.errors import ManifestError, ObjectNotFound
from headgate.manifest.head import (
    Base,
    Head,
    Segment,
    commits_key,
    decode_head,
    files_key,
    head_key,
    prune_key,
    render_key,
    zones_key,
)
from headgate.storage.base import ObjectStore

# An Arrow IPC file begins with its magic, padded to eight bytes; the schema message follows.
_MAGIC_BYTES = 8


@dataclass(frozen=True, slots=True)
class Span:
    """Where one record batch of a part lies: the part's header, and the batch's own bytes."""

    header: int
    offset: int
    length: int


class ManifestReader:
    """Reads the manifests below one index root, and keeps small immutable objects in memory.

    `cache_bytes` bounds what is kept: zone maps and tails, decoded, least recently used out first.
    Safe to use from several threads.
    """

    def __init__(self, store: ObjectStore, cache_bytes: int = 128 << 20) -> None:
        self._store = store
        self._cache_bytes = cache_bytes
        self._cache: OrderedDict[str, pa.RecordBatch] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="manifest")

    def head(self, table_id: str) -> Head | None:
        """The table's head, or None where it was never indexed."""
        try:
            return decode_head(self._store.get(head_key(table_id)))
        except ObjectNotFound:
            return None

    def snapshot_index(
        self, table_id: str, base: Base, segments: Sequence[Segment]
    ) -> tuple[pa.RecordBatch, list[pa.RecordBatch]]:
        """The zone maps of a base and the rows of tail segments, fetched at the same time."""
        keys = [zones_key(table_id, base.id)] + [files_key(table_id, s.id) for s in segments]
        zones, *tail = self._pool.map(self._whole, keys)
        return zones, tail

    def commits(self, table_id: str, segments: Sequence[Segment]) -> list[pa.RecordBatch]:
        """The commit rows (`manifest.write.COMMITS`) of tail segments, fetched at the same time."""
        return list(self._pool.map(self._whole, [commits_key(table_id, s.id) for s in segments]))

    def prune_batches(
        self,
        table_id: str,
        base: Base,
        part: int,
        spans: Sequence[Span],
        columns: Collection[str] | None = None,
    ) -> list[pa.RecordBatch]:
        """Batches of the prune side; only `columns` are decompressed, where they are named."""
        return self._batches(prune_key(table_id, base.id, base.parts[part]), spans, columns)

    def render_batches(
        self, table_id: str, base: Base, part: int, spans: Sequence[Span]
    ) -> list[pa.RecordBatch]:
        return self._batches(render_key(table_id, base.id, base.parts[part]), spans, None)

    def _batches(
        self, key: str, spans: Sequence[Span], columns: Collection[str] | None
    ) -> list[pa.RecordBatch]:
        """The record batches at `spans` of one part, in one round trip."""
        ranges = [(0, spans[0].header), *((span.offset, span.length) for span in spans)]
        with _named(key):
            header, *bodies = self._store.get_ranges(key, ranges)
        schema = pa.ipc.read_schema(pa.py_buffer(header[_MAGIC_BYTES:]))
        fields = None
        if columns is not None:
            fields = [place for place, name in enumerate(schema.names) if name in columns]
        # Header and batches are a stream: unlike a lone batch, it can be read in part.
        stream = pa.py_buffer(b"".join((header[_MAGIC_BYTES:], *bodies)))
        # One thread: requests run beside each other, and more would cost more than they save.
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        batches: list[pa.RecordBatch]
        first, *batches = pa.ipc.open_stream(stream, options=options)
        if first.num_rows or len(batches) != len(spans):
            raise ManifestError(f"{key} does not hold what its zone maps say")
        return batches

    def _whole(self, key: str) -> pa.RecordBatch:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        with _named(key):
            body = self._store.get(key)
        table = pa.ipc.open_file(pa.py_buffer(body)).read_all().combine_chunks()
        batches = table.to_batches()
        batch = batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
        with self._lock:
            self._cache[key] = batch
            kept = sum(entry.nbytes for entry in self._cache.values())
            while kept > self._cache_bytes and len(self._cache) > 1:
                _, dropped = self._cache.popitem(last=False)
                kept -= dropped.nbytes
        return batch


@contextmanager
def _named(key: str) -> Iterator[None]:
    try:
        yield
    except ObjectNotFound as error:
        raise ManifestError(f"the head names {key}, which does not exist") from error
