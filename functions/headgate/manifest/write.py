"""Encoding of manifest objects: base parts with their zone maps, tail segments, commits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.bounds import FileBounds
from headgate.manifest.columns import COLUMNS_KEY, IndexedColumn, encode_columns
from headgate.manifest.rows import ManifestRows

# Files a record batch: what one surviving zone costs to read and decompress.
BATCH_FILES = 2048
# Files a part: what one Spark task holds in memory while it encodes.
PART_FILES = 65_536
_OPTIONS = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=3))

# One row a record batch of the parts; bounds columns follow (see `manifest.columns`), with
# `may_null:<k>` and `may_value:<k>` (bool) in place of null counts.
ZONE_FIELDS = [
    pa.field("part", pa.int32(), nullable=False),  # position in Base.parts
    pa.field("files", pa.int32(), nullable=False),
    pa.field("num_records", pa.int64()),  # physical rows; null where a file tells none
    pa.field("prune_header", pa.int64(), nullable=False),  # bytes before the first batch
    pa.field("prune_offset", pa.int64(), nullable=False),
    pa.field("prune_length", pa.int64(), nullable=False),
    pa.field("render_header", pa.int64(), nullable=False),
    pa.field("render_offset", pa.int64(), nullable=False),
    pa.field("render_length", pa.int64(), nullable=False),
]

COMMITS = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),  # commit timestamp, ms
        pa.field("operation", pa.string()),  # commitInfo.operation
        pa.field("schema_change", pa.bool_(), nullable=False),  # the head's history has a row
        pa.field("files", pa.int64(), nullable=False),  # live after the commit
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("records", pa.int64()),  # physical; null where a live file tells none
        pa.field("deletion_vectors", pa.int64(), nullable=False),  # live files that have one
    ]
)


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """A base part: two Arrow IPC files of the same rows and batches, and its zone maps."""

    prune: bytes
    render: bytes
    zones: pa.RecordBatch


def encode_part(rows: Sequence[ManifestRows], columns: Sequence[IndexedColumn]) -> EncodedPart:
    """Encodes clustered rows; `part` in the zone maps is 0 until the base is put together."""
    prune = _one_batch([side.prune for side in rows])
    render = _one_batch([side.render for side in rows])
    prune_body, prune_spans = _encode(_without_nulls(prune, keep={"key", "num_records"}))
    render_body, render_spans = _encode(_without_nulls(render, keep={"path", "size"}))
    zones: list[dict[str, object]] = []
    starts = range(0, prune.num_rows, BATCH_FILES)
    for start, prune_span, render_span in zip(
        starts, prune_spans[1:], render_spans[1:], strict=True
    ):
        zone = _zone(prune.slice(start, BATCH_FILES), columns)
        zone |= {"prune_header": prune_spans[0][1], "render_header": render_spans[0][1]}
        zone |= {"prune_offset": prune_span[0], "prune_length": prune_span[1]}
        zone |= {"render_offset": render_span[0], "render_length": render_span[1]}
        zones.append(zone)
    return EncodedPart(prune_body, render_body, _zone_batch(zones, columns))


def encode_zones(parts: Iterable[pa.RecordBatch], columns: Sequence[IndexedColumn]) -> bytes:
    """The zone maps of a whole base, from those of its parts in order."""
    numbered = []
    for number, zones in enumerate(parts):
        place = zones.schema.get_field_index("part")
        numbers = pa.repeat(pa.scalar(number, pa.int32()), zones.num_rows)
        numbered.append(zones.set_column(place, ZONE_FIELDS[0], numbers))
    schema = pa.schema(ZONE_FIELDS, metadata={COLUMNS_KEY: encode_columns(columns)})
    empty = pa.RecordBatch.from_pylist([], schema)
    return encode_batches([_one_batch([empty, *numbered])])


def encode_batches(batches: Sequence[pa.RecordBatch]) -> bytes:
    """Batches of one schema as an Arrow IPC file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batches[0].schema, options=_OPTIONS) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def encode_segment(batches: Sequence[pa.RecordBatch]) -> bytes:
    """A tail segment, from the batches of `RowBuilder.changes`, which may differ in columns."""
    whole = _without_nulls(_one_batch(batches), keep={"key", "num_records", "path", "size"})
    return encode_batches(
        [whole.slice(start, BATCH_FILES) for start in range(0, whole.num_rows, BATCH_FILES)]
        or [whole]
    )


def _one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches one after the other; columns that some of them lack are null there."""
    table = pa.concat_tables(
        [pa.Table.from_batches([batch]) for batch in batches], promote_options="default"
    ).combine_chunks()
    if table.num_rows == 0:
        return pa.RecordBatch.from_pylist([], table.schema)
    return pa.RecordBatch.from_arrays(
        [column.chunk(0) for column in table.columns], schema=table.schema
    )


def _without_nulls(batch: pa.RecordBatch, keep: set[str]) -> pa.RecordBatch:
    names = [
        field.name
        for field, column in zip(batch.schema, batch.columns, strict=True)
        if column.null_count < batch.num_rows or field.name in keep or not field.nullable
    ]
    return batch.select(names)


def _encode(batch: pa.RecordBatch) -> tuple[bytes, list[tuple[int, int]]]:
    """The IPC file, and the (offset, length) of its header and of each batch."""
    sink = pa.BufferOutputStream()
    spans: list[tuple[int, int]] = []
    with pa.ipc.new_file(sink, batch.schema, options=_OPTIONS) as writer:
        # The writer opens lazily: an empty batch brings the header out, and costs one message.
        # Not an empty slice: that would bring the buffers behind it along.
        writer.write_batch(pa.RecordBatch.from_pylist([], batch.schema))
        spans.append((0, sink.tell()))
        for start in range(0, batch.num_rows, BATCH_FILES):
            offset = sink.tell()
            writer.write_batch(batch.slice(start, BATCH_FILES))
            spans.append((offset, sink.tell() - offset))
    return bytes(sink.getvalue()), spans


def _zone(prune: pa.RecordBatch, columns: Sequence[IndexedColumn]) -> dict[str, object]:
    num_records = prune.column("num_records")
    zone: dict[str, object] = {
        "part": 0,
        "files": prune.num_rows,
        "num_records": None if num_records.null_count else pc.sum(num_records).as_py(),
    }
    bounds = FileBounds(prune)
    for place, column in enumerate(columns):
        found = bounds.column(column.path)
        if found is None:
            continue
        if column.arrow_type is not None:
            # A file without non-null values bounds nothing, and needs no bounds.
            for side, values, choose in (
                ("min", found.minimum, pc.min),
                ("max", found.maximum, pc.max),
            ):
                unknown = pc.any(pc.and_(pc.is_null(values), found.may_be_value)).as_py()
                # A scalar: Python's datetime ends with the year 9999, bounds need not.
                zone[f"{side}:{place}"] = None if unknown else choose(values)
        zone[f"may_null:{place}"] = pc.any(found.may_be_null).as_py()
        zone[f"may_value:{place}"] = pc.any(found.may_be_value).as_py()
    return zone


def _zone_batch(
    zones: Sequence[dict[str, object]], columns: Sequence[IndexedColumn]
) -> pa.RecordBatch:
    present = {name for zone in zones for name in zone}
    fields = list(ZONE_FIELDS)
    for place, column in enumerate(columns):
        if f"may_null:{place}" not in present:
            continue
        if column.arrow_type is not None:
            fields += [pa.field(f"{side}:{place}", column.arrow_type) for side in ("min", "max")]
        fields += [pa.field(f"{flag}:{place}", pa.bool_()) for flag in ("may_null", "may_value")]
    schema = pa.schema(fields, metadata={COLUMNS_KEY: encode_columns(columns)})
    arrays = [pa.array([zone.get(f.name) for zone in zones], f.type) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
