"""Partition values: typed, with their bounds, and rendered as JSON.

Source: Delta protocol, "Partition Value Serialization".
"""

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.columns import IndexedColumn

# What Hive-style writers leave in place of null; some put it into the log.
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
# A timestamp without a zone was written in a zone that nobody recorded: it is any instant of
# those that some zone shows as this wall-clock time.
_ZONE_SLACK = datetime.timedelta(hours=18)


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """One partition column over a batch of files.

    `value`, `minimum`, `maximum`: of the column's type, null where null or unreadable.
    `nulls`: int8, 1 where the value is null, 0 where it is not, null where that is not certain.
    """

    value: pa.Array
    minimum: pa.Array
    maximum: pa.Array
    nulls: pa.Array


def raw_values(partition_values: pa.MapArray, name: str) -> pa.Array:
    """The raw text of one partition column, by its physical name or that name in another case."""
    keys = pc.unique(partition_values.keys).to_pylist()
    if name not in keys:
        name = next((key for key in keys if key.lower() == name.lower()), name)
    return pc.map_lookup(partition_values, name, "first")


def typed_values(partition_values: pa.MapArray, column: IndexedColumn) -> PartitionColumn:
    """Types each distinct text once.

    A text that its type cannot read stays unknown, and so does a value that the map lacks: the
    file may be older than the partitioning.
    """
    raw = raw_values(partition_values, column.path[0])
    encoded = raw.dictionary_encode()
    arrow_type = column.arrow_type or pa.null()
    read = _reader(arrow_type)
    values, lows, highs, nulls = [], [], [], []
    for text in encoded.dictionary.to_pylist():
        value = None if text in ("", _HIVE_NULL) else read(text)
        low = high = value
        if isinstance(value, datetime.datetime) and arrow_type.tz and value.tzinfo is None:
            value = value.replace(tzinfo=datetime.UTC)
            low, high = _shift(value, -_ZONE_SLACK), _shift(value, _ZONE_SLACK)
        values.append(value)
        lows.append(low)
        highs.append(high)
        nulls.append(None if text in ("", _HIVE_NULL) else 0)

    def take(distinct: list[object], distinct_type: pa.DataType) -> pa.Array:
        return pa.array(distinct, distinct_type).take(encoded.indices)

    certain = take(list(nulls), pa.int8())
    null = pc.and_(pc.is_null(raw), _has_key(partition_values, column.path[0]))
    return PartitionColumn(
        take(values, arrow_type),
        take(lows, arrow_type),
        take(highs, arrow_type),
        pc.if_else(null, pa.scalar(1, pa.int8()), certain),
    )


def _has_key(partition_values: pa.MapArray, name: str) -> pa.Array:
    whole = pa.concat_arrays([partition_values])  # from_arrays takes no slices
    marks = pa.repeat("", len(whole.keys))
    marked = pa.MapArray.from_arrays(whole.offsets, whole.keys, marks)
    return pc.and_(pc.is_valid(partition_values), pc.is_valid(raw_values(marked, name)))


def _shift(value: datetime.datetime, by: datetime.timedelta) -> datetime.datetime | None:
    try:
        return value + by
    except OverflowError:
        return None


def _reader(arrow_type: pa.DataType) -> Callable[[str], object]:
    if pa.types.is_null(arrow_type):
        return lambda text: None
    if pa.types.is_timestamp(arrow_type):
        zoned = arrow_type.tz is not None

        def read_timestamp(text: str) -> object:
            try:
                value = datetime.datetime.fromisoformat(text)
            except ValueError:
                return None
            return value if zoned or value.tzinfo is None else None

        return read_timestamp

    def read(text: str) -> object:
        try:
            return pa.array([text]).cast(arrow_type)[0].as_py()
        except pa.ArrowException:
            return None

    return read


def render_values(partition_values: pa.MapArray, names: tuple[str, ...]) -> pa.Array:
    """Each row's partitionValues as ASCII JSON (string array), null maps as `{}`.

    `names` are the physical names of the table's partition columns; maps with other keys, which
    only a log older than the table's present partitioning holds, are rendered as they are.
    """
    length = len(partition_values)
    keys = set(pc.unique(partition_values.keys).to_pylist())
    if not keys:
        return pa.repeat("{}", length)
    known = {name.lower(): name for name in names}
    if len(keys) > len(known) or not all(key.lower() in known for key in keys):
        rows = partition_values.to_pylist()
        return pa.array([json.dumps(dict(row or ()), separators=(",", ":")) for row in rows])
    pieces: list[pa.Array | str] = []
    for place, name in enumerate(names):
        encoded = raw_values(partition_values, name).dictionary_encode()
        texts = pa.array([json.dumps(text) for text in encoded.dictionary.to_pylist()], pa.string())
        pieces += [
            ("{" if place == 0 else ",") + json.dumps(name) + ":",
            pc.fill_null(texts.take(encoded.indices), "null"),
        ]
    rendered = pc.binary_join_element_wise(*pieces, "}", "")
    return pc.if_else(pc.is_null(partition_values), "{}", rendered)
