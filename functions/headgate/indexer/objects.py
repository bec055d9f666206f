"""Writers that run on executors: sorted rows in, manifest objects in storage out.

Each gives back one row an object; nothing is visible to readers until a head names it. Names hold
random digits, so that a task that is run twice never writes to an object of its other run.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast, TaskContext

from headgate.indexer.replay import TableReplay, actions_of
from headgate.manifest.head import files_key, prune_key, render_key
from headgate.manifest.rows import ManifestRows, RowBuilder
from headgate.manifest.write import PART_FILES, encode_batches, encode_part, encode_segment
from headgate.storage.base import ObjectStore
from headgate.storage.locate import open_store
from headgate.storage.options import StorageOptions

BatchMap = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

PART_COLUMNS = (
    "table int, epoch int, place int, part string, files bigint, bytes bigint, records bigint,"
    " unknown bigint, vectors bigint, zones binary"
)
SEGMENT_COLUMNS = "table int, segment int, id string, rows bigint"


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """Where manifests go: the index root, and each table's id and base id by epoch."""

    url: str
    options: StorageOptions
    table_ids: Sequence[str]
    base_ids: Sequence[Sequence[str]]

    def open(self) -> ObjectStore:
        return open_store(self.url, self.options)


def part_writer(tables: Broadcast[Sequence[TableReplay]], target: IndexTarget) -> BatchMap:
    """Writes base parts from rows ordered by table, epoch and cluster."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        store = target.open()
        written = 0
        for (number, epoch), rows in _runs(batches, ("table", "epoch")):
            table = tables.value[number]
            builder = RowBuilder(table.plan.metadata_at(table.plan.epochs[epoch].first))
            for chunk in _chunks(rows, PART_FILES):
                name = f"{partition:05}-{written:04}-{secrets.token_hex(4)}"
                built = [builder.build(actions_of(batch)) for batch in chunk]
                part = encode_part(built, builder.columns)
                table_id, base_id = target.table_ids[number], target.base_ids[number][epoch]
                store.put(prune_key(table_id, base_id, name), part.prune)
                store.put(render_key(table_id, base_id, name), part.render)
                place = partition * 10_000 + written
                written += 1
                yield _part_row(number, epoch, place, name, built, encode_batches([part.zones]))

    return write


def _part_row(
    table: int, epoch: int, place: int, name: str, built: Sequence[ManifestRows], zones: bytes
) -> pa.RecordBatch:
    def total(column: str, side: str) -> int:
        return sum(pc.sum(getattr(rows, side).column(column)).as_py() or 0 for rows in built)

    def count(column: str, side: str, *, null: bool) -> int:
        columns = [getattr(rows, side).column(column) for rows in built]
        return sum(c.null_count if null else len(c) - c.null_count for c in columns)

    return pa.RecordBatch.from_pylist(
        [
            {
                "table": table,
                "epoch": epoch,
                "place": place,
                "part": name,
                "files": sum(rows.prune.num_rows for rows in built),
                "bytes": total("size", "render"),
                "records": total("num_records", "prune"),
                "unknown": count("num_records", "prune", null=True),
                "vectors": count("dv_storage_type", "render", null=False),
                "zones": zones,
            }
        ],
        pa.schema(
            [
                ("table", pa.int32()),
                ("epoch", pa.int32()),
                ("place", pa.int32()),
                ("part", pa.string()),
                *((name, pa.int64()) for name in ("files", "bytes", "records")),
                *((name, pa.int64()) for name in ("unknown", "vectors")),
                ("zones", pa.binary()),
            ]
        ),
    )


def segment_writer(tables: Broadcast[Sequence[TableReplay]], target: IndexTarget) -> BatchMap:
    """Writes tail segments from rows ordered by table, segment and place in the log.

    A row is built under the metadata in effect at the segment's last version: bounds are kept for
    the columns that readers of its versions may ask for.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = target.open()
        for (number, segment), rows in _runs(batches, ("table", "segment")):
            plan = tables.value[number].plan
            builder = RowBuilder(plan.metadata_at(plan.segments[segment].last))
            changes = [builder.changes(actions_of(batch)) for batch in rows]
            identity = f"{plan.segments[segment].first:020}-{secrets.token_hex(8)}"
            store.put(files_key(target.table_ids[number], identity), encode_segment(changes))
            yield pa.RecordBatch.from_pydict(
                {
                    "table": pa.array([number], pa.int32()),
                    "segment": pa.array([segment], pa.int32()),
                    "id": pa.array([identity]),
                    "rows": pa.array([sum(batch.num_rows for batch in changes)], pa.int64()),
                }
            )

    return write


def _runs(
    batches: Iterator[pa.RecordBatch], by: tuple[str, str]
) -> Iterator[tuple[tuple[int, int], Iterator[pa.RecordBatch]]]:
    """Consecutive rows of equal `by`, as batches; consume each run before the next."""
    pending: pa.RecordBatch | None = None

    def upcoming() -> pa.RecordBatch | None:
        nonlocal pending
        while pending is None or pending.num_rows == 0:
            pending = next(batches, None)
            if pending is None:
                return None
        return pending

    def key_at(batch: pa.RecordBatch, row: int) -> tuple[int, int]:
        return batch.column(by[0])[row].as_py(), batch.column(by[1])[row].as_py()

    def run(key: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        nonlocal pending
        while (batch := upcoming()) is not None and key_at(batch, 0) == key:
            if key_at(batch, batch.num_rows - 1) == key:
                length = batch.num_rows
            else:
                same = pc.and_(
                    *(pc.equal(batch.column(n), v) for n, v in zip(by, key, strict=True))
                )
                length = pc.index(same, False).as_py()
            pending = batch.slice(length)
            yield batch.slice(0, length)

    while (batch := upcoming()) is not None:
        key = key_at(batch, 0)
        yield key, run(key)


def _chunks(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches gathered, and cut, to chunks of `rows` rows."""
    chunk: list[pa.RecordBatch] = []
    room = rows
    for batch in batches:
        while batch.num_rows:
            chunk.append(batch.slice(0, room))
            room -= chunk[-1].num_rows
            batch = batch.slice(chunk[-1].num_rows)
            if room == 0:
                yield chunk
                chunk, room = [], rows
    if chunk:
        yield chunk
