"""The `add` column of a checkpoint's Parquet file as batches of ACTIONS.

Source: Delta protocol, "Checkpoint Schema".
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.log.commits import partition_maps
from headgate.log.struct_stats import partition_texts, stats_json
from headgate.manifest.actions import ACTIONS
from headgate.manifest.keys import deletion_vector_id, file_key

_PLAIN = {
    "path": "path",
    "partition_values": "partitionValues",
    "size": "size",
    "modification_time": "modificationTime",
    "data_change": "dataChange",
    "stats": "stats",
    "base_row_id": "baseRowId",
    "default_row_commit_version": "defaultRowCommitVersion",
}
_VECTOR = {
    "dv_storage_type": "storageType",
    "dv_path_or_inline": "pathOrInlineDv",
    "dv_offset": "offset",
    "dv_size": "sizeInBytes",
    "dv_cardinality": "cardinality",
}


@dataclass(frozen=True, slots=True)
class AddColumns:
    """The Parquet columns to read (`names`), and the dotted paths below `stats_parsed` and
    `partitionValues_parsed` that are INT96 timestamps.
    """

    names: list[str]
    stats_instants: frozenset[str]
    partition_instants: frozenset[str]


def add_columns(file: pq.ParquetFile, row_groups: Iterable[int]) -> AddColumns:
    """What is to be read of `file`'s row groups: typed columns only where their text is missing."""
    leaves = {file.schema.column(i).path: i for i in range(len(file.schema.names))}
    have = {path.split(".")[1] for path in leaves if path.startswith("add.")}
    names = [f"add.{name}" for name in _PLAIN.values() if name in have]
    names += [f"add.deletionVector.{name}" for name in _VECTOR.values()]
    if "partitionValues" not in have:
        names.append("add.partitionValues_parsed")
    if not _all_have_stats(file, leaves, row_groups):
        names += [
            f"add.stats_parsed.{part}"
            for part in ("numRecords", "minValues", "maxValues", "nullCount", "tightBounds")
        ]
    int96 = [path for path, i in leaves.items() if file.schema.column(i).physical_type == "INT96"]
    return AddColumns(
        names,
        _below(int96, "add.stats_parsed."),
        _below(int96, "add.partitionValues_parsed."),
    )


def _below(paths: Iterable[str], prefix: str) -> frozenset[str]:
    return frozenset(path.removeprefix(prefix) for path in paths if path.startswith(prefix))


def _all_have_stats(
    file: pq.ParquetFile, leaves: dict[str, int], row_groups: Iterable[int]
) -> bool:
    """Whether the footer proves that every add has its statistics as JSON."""
    stats, path = leaves.get("add.stats"), leaves.get("add.path")
    if stats is None or path is None:
        return False
    for group in row_groups:
        columns = file.metadata.row_group(group)
        nulls = [
            s.null_count
            for s in (columns.column(stats).statistics, columns.column(path).statistics)
            if s is not None and s.has_null_count
        ]
        if len(nulls) < 2 or nulls[0] != nulls[1]:
            return False
    return True


def add_rows(
    batch: pa.RecordBatch, columns: AddColumns, version: int, first_ordinal: int
) -> pa.RecordBatch:
    """The adds of `batch`, read with `columns`, as ACTIONS; other rows are dropped."""
    add = batch["add"]
    add = add.filter(pc.is_valid(pc.struct_field(add, "path")))
    length = len(add)
    fields = _children(add)
    vector = fields.get("deletionVector")
    vectors = {} if vector is None else _children(vector)
    arrays: dict[str, pa.Array] = {}
    for ours, theirs in _PLAIN.items():
        arrays[ours] = _as(fields.get(theirs), ours, length)
    for ours, theirs in _VECTOR.items():
        arrays[ours] = _as(vectors.get(theirs), ours, length)
    if "stats_parsed" in fields:
        rendered = stats_json(fields["stats_parsed"], columns.stats_instants)
        arrays["stats"] = pc.coalesce(_stated(arrays["stats"]), rendered)
    else:
        arrays["stats"] = _stated(arrays["stats"])
    if "partitionValues" not in fields:
        arrays["partition_values"] = _partition_values(
            fields.get("partitionValues_parsed"), columns.partition_instants, length
        )
    arrays["data_change"] = pc.fill_null(arrays["data_change"], True)
    arrays["version"] = pa.repeat(pa.scalar(version, pa.int64()), length)
    arrays["ordinal"] = pa.array(range(first_ordinal, first_ordinal + length), pa.int32())
    arrays["action"] = pa.repeat("add", length)
    arrays["deletion_timestamp"] = pa.nulls(length, pa.int64())
    arrays["key"] = _keys(arrays)
    return pa.RecordBatch.from_arrays([arrays[f.name] for f in ACTIONS], schema=ACTIONS)


def _children(struct: pa.StructArray) -> dict[str, pa.Array]:
    return dict(zip((field.name for field in struct.type), struct.flatten(), strict=True))


def _as(array: pa.Array | None, name: str, length: int) -> pa.Array:
    data_type = ACTIONS.field(name).type
    return pa.nulls(length, data_type) if array is None else pc.cast(array, data_type)


def _stated(stats: pa.StringArray) -> pa.StringArray:
    """Some writers say "null" or nothing at all where they have no statistics."""
    empty = pc.is_in(stats, pa.array(["null", ""]))
    return pc.if_else(empty, pa.scalar(None, pa.string()), stats)


def _partition_values(
    parsed: pa.StructArray | None, instants: frozenset[str], length: int
) -> pa.Array:
    if parsed is None:
        return partition_maps([{}] * length)
    texts = {name: text.to_pylist() for name, text in partition_texts(parsed, instants).items()}
    return partition_maps(
        [{name: values[row] for name, values in texts.items()} for row in range(length)]
    )


def _keys(arrays: dict[str, pa.Array]) -> pa.Array:
    paths = arrays["path"].to_pylist()
    kinds = arrays["dv_storage_type"]
    if kinds.null_count == len(kinds):
        return pa.array([file_key(path) for path in paths], pa.binary(16))
    vectors = zip(
        kinds.to_pylist(),
        arrays["dv_path_or_inline"].to_pylist(),
        arrays["dv_offset"].to_pylist(),
        strict=True,
    )
    return pa.array(
        [
            file_key(path, None if kind is None else deletion_vector_id(kind, stored, offset))
            for path, (kind, stored, offset) in zip(paths, vectors, strict=True)
        ],
        pa.binary(16),
    )
