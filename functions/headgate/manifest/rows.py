"""From file actions to manifest rows: the one place that builds them, for Spark and on commit.

A batch of `manifest.actions.ACTIONS` gives two batches of the same rows:

    prune   key (binary 16), num_records (int64, physical rows), dv_cardinality (int64), and the
            bounds that `manifest.columns` names                      what deciding reads
    render  path, size, partition_values, stats, …                    what answering reads

Columns that are null throughout a batch keep their place here; the writer leaves them out of the
objects it writes.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.columns import (
    COLUMNS_KEY,
    IndexedColumn,
    encode_columns,
    indexed_columns,
)
from headgate.manifest.partition_values import render_values, typed_values
from headgate.manifest.stats import BatchStats, parse_stats
from headgate.model.actions import Metadata

RENDER_FIELDS = [
    pa.field("path", pa.string(), nullable=False),  # as in the log
    pa.field("size", pa.int64()),  # bytes
    pa.field("modification_time", pa.int64()),  # ms since the epoch
    pa.field("partition_values", pa.string(), nullable=False),  # ASCII JSON object, physical names
    pa.field("stats", pa.string()),  # the stats text as the inside of an ASCII JSON string
    pa.field("dv_storage_type", pa.string()),
    pa.field("dv_path_or_inline", pa.string()),
    pa.field("dv_offset", pa.int32()),
    pa.field("dv_size", pa.int32()),  # bytes
    pa.field("dv_cardinality", pa.int64()),  # rows
    pa.field("base_row_id", pa.int64()),
    pa.field("default_row_commit_version", pa.int64()),
]
# What a tail segment keeps besides: which change of which commit the row is.
CHANGE_FIELDS = [
    pa.field("version", pa.int64(), nullable=False),
    pa.field("ordinal", pa.int32(), nullable=False),
    pa.field("action", pa.string(), nullable=False),  # add | remove | cdc
    pa.field("data_change", pa.bool_(), nullable=False),
    pa.field("deletion_timestamp", pa.int64()),  # ms since the epoch, removes only
]

# Escaping leaves it as it is. No end of it is a beginning of it, so that occurrences never overlap,
# and counting them tells whether a text holds one.
_BETWEEN_TEXTS = " ~|"


@dataclass(frozen=True, slots=True)
class ManifestRows:
    """The two sides of the same files, in the order of the actions they came from."""

    prune: pa.RecordBatch
    render: pa.RecordBatch


class RowBuilder:
    """Builds manifest rows for files written under one metadata action."""

    def __init__(self, metadata: Metadata) -> None:
        self.columns: tuple[IndexedColumn, ...] = indexed_columns(metadata)
        self._partition_names = tuple(c.path[0] for c in self.columns if c.partition)
        self._schema_metadata = {COLUMNS_KEY: encode_columns(self.columns)}

    def build(self, actions: pa.RecordBatch) -> ManifestRows:
        """Rows for a batch of ACTIONS."""
        return ManifestRows(self._prune(actions), self._render(actions))

    def changes(self, actions: pa.RecordBatch) -> pa.RecordBatch:
        """All columns of both sides and of CHANGE_FIELDS, for a tail segment."""
        rows = self.build(actions)
        fields = [*CHANGE_FIELDS, *rows.render.schema]
        arrays = [actions.column(field.name) for field in CHANGE_FIELDS] + rows.render.columns
        for field, array in zip(rows.prune.schema, rows.prune.columns, strict=True):
            if field.name != "dv_cardinality":  # on the render side already
                fields.append(field)
                arrays.append(array)
        return pa.RecordBatch.from_arrays(
            arrays, schema=pa.schema(fields, metadata=self._schema_metadata)
        )

    def _prune(self, actions: pa.RecordBatch) -> pa.RecordBatch:
        stats = parse_stats(actions.column("stats"), self.columns)
        named = [
            ("key", actions.column("key")),
            ("num_records", stats.num_records),
            ("dv_cardinality", actions.column("dv_cardinality")),
            *self._bounds(actions, stats),
        ]
        return pa.RecordBatch.from_arrays(
            [array for _, array in named],
            schema=pa.schema(
                [pa.field(name, array.type) for name, array in named],
                metadata=self._schema_metadata,
            ),
        )

    def _bounds(self, actions: pa.RecordBatch, stats: BatchStats) -> Iterator[tuple[str, pa.Array]]:
        partition_values = actions.column("partition_values")
        for place, column in enumerate(self.columns):
            if column.partition:
                typed = typed_values(partition_values, column)
                if column.arrow_type is not None:
                    yield f"value:{place}", typed.value
                    if not typed.value.equals(typed.minimum):
                        yield f"min:{place}", typed.minimum
                        yield f"max:{place}", typed.maximum
                yield f"nulls:{place}", typed.nulls
            elif place in stats.columns:
                found = stats.columns[place]
                if found.minimum is not None and found.maximum is not None:
                    yield f"min:{place}", found.minimum
                    yield f"max:{place}", found.maximum
                yield f"nulls:{place}", found.null_count

    def _render(self, actions: pa.RecordBatch) -> pa.RecordBatch:
        built = {
            "partition_values": render_values(
                actions.column("partition_values"), self._partition_names
            ),
            "stats": _json_string_inside(actions.column("stats")),
        }
        arrays = [
            built[field.name] if field.name in built else actions.column(field.name)
            for field in RENDER_FIELDS
        ]
        return pa.RecordBatch.from_arrays(
            arrays, schema=pa.schema(RENDER_FIELDS, metadata=self._schema_metadata)
        )


def _json_string_inside(texts: pa.Array) -> pa.Array:
    """Each text as the inside of an ASCII JSON string literal: escaped, without its quotes."""
    known = texts.drop_null().to_pylist()
    # All at once: a call for each text costs more than its work.
    joined = _BETWEEN_TEXTS.join(known)
    if known and joined.count(_BETWEEN_TEXTS) == len(known) - 1:
        escaped = json.dumps(joined)[1:-1].split(_BETWEEN_TEXTS)
    else:
        escaped = [json.dumps(text)[1:-1] for text in known]
    if len(known) == len(texts):
        return pa.array(escaped, pa.string())
    return pc.replace_with_mask(
        pa.nulls(len(texts), pa.string()), pc.is_valid(texts), pa.array(escaped, pa.string())
    )
