"""Statistics of files, from the JSON of `add.stats` to typed outer bounds.

Soundness before precision: a value that cannot be read becomes unknown (null), and a bound that a
writer may have cut is widened, so that the stored minimum and maximum always enclose every
non-null, non-NaN value of the file.

A whole batch is read by Arrow's JSON reader; a batch that it refuses (`"Infinity"` where a number
belongs, damaged texts) is read row by row.

Source: Delta protocol, "Per-file Statistics".
"""

import datetime
import decimal
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from headgate.manifest.columns import IndexedColumn

# Spark cuts string bounds to 32 characters. An upper bound that long, or one that ends with a
# tie-breaker of an older writer, is raised above every string it may be the beginning of.
_STRING_PREFIX_LENGTH = 32
_OLD_TIE_BREAKERS = ("\ufffd", "\uffff")
_GREATEST_CHARACTER = "\U0010ffff"
# Writers cut timestamps to whole milliseconds.
_MILLISECOND_SLACK = datetime.timedelta(microseconds=999)
# Decimals below this many units of their scale survive being read as a double.
_EXACT_UNITS = 1e15
# Whole numbers up to here are doubles.
_EXACT_WHOLE = 2.0**53
# How far a product may lie from a whole number of units and still be that number.
_UNIT_NOISE = 1e-3


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Bounds of one column over a batch of files; each array has one entry a file."""

    minimum: pa.Array | None
    maximum: pa.Array | None
    null_count: pa.Array


@dataclass(frozen=True, slots=True)
class BatchStats:
    """`num_records` int64 (null where unknown), and stats by position in the column list."""

    num_records: pa.Array
    columns: dict[int, ColumnStats]


def parse_stats(stats: pa.Array, columns: Sequence[IndexedColumn]) -> BatchStats:
    """Typed statistics of a batch of files.

    `stats` holds JSON texts (string, nullable). Columns of which the batch has no statistics at
    all are left out.
    """
    wanted = [(place, column) for place, column in enumerate(columns) if not column.partition]
    table = _read_batch(stats, [column for _, column in wanted])
    rows = None if table is not None else [_parse_row(text) for text in stats.to_pylist()]

    def values(side: str, column: IndexedColumn) -> pa.ChunkedArray | list[Any] | None:
        if table is not None:
            return _descend(table[side], column.path) if side in table.column_names else None
        return _pluck([_object(row.get(side)) for row in rows or ()], column.path)

    def exact_rows() -> list[dict[str, Any]]:
        nonlocal rows
        if rows is None:
            rows = [_parse_row(text) for text in stats.to_pylist()]
        return rows

    def bound(side: str, column: IndexedColumn, *, upper: bool) -> pa.Array | None:
        arrow_type = column.arrow_type
        found = None if arrow_type is None else values(side, column)
        if found is None:
            return None
        if isinstance(found, list):
            return _one_by_one(found, arrow_type, upper=upper)
        typed = _at_once(found, arrow_type, upper=upper)
        if typed is not None:
            return typed
        return _one_by_one(
            _pluck([_object(row.get(side)) for row in exact_rows()], column.path),
            arrow_type,
            upper=upper,
        )

    parsed: dict[int, ColumnStats] = {}
    for place, column in wanted:
        minimum = bound("minValues", column, upper=False)
        maximum = bound("maxValues", column, upper=True)
        null_count = _counts(values("nullCount", column), len(stats))
        sides = (minimum, maximum, null_count)
        if any(side is not None and side.null_count < len(stats) for side in sides):
            parsed[place] = ColumnStats(minimum, maximum, null_count)
    if table is not None:
        num_records = _counts(table["numRecords"], len(stats))
    else:
        num_records = _counts([row.get("numRecords") for row in rows or ()], len(stats))
    return BatchStats(num_records, parsed)


def _counts(values: pa.ChunkedArray | list[Any] | None, length: int) -> pa.Array:
    if values is None:
        return pa.nulls(length, pa.int64())
    if isinstance(values, list):
        return pa.array(
            [v if type(v) is int and 0 <= v < 2**63 else None for v in values], pa.int64()
        )
    counts = values.combine_chunks()
    return pc.if_else(pc.greater_equal(counts, 0), counts, pa.scalar(None, pa.int64()))


# --- a batch at once ---------------------------------------------------------------------------


def _json_type(arrow_type: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(arrow_type):
        return pa.int64()
    if pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type):
        return pa.float64()
    return pa.bool_() if pa.types.is_boolean(arrow_type) else pa.string()


def _read_batch(stats: pa.Array, columns: Sequence[IndexedColumn]) -> pa.Table | None:
    """The statistics as Arrow structs, or None where Arrow cannot read every row of the batch."""
    bounds: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for column in columns:
        if column.arrow_type is not None:
            _place(bounds, column.path, _json_type(column.arrow_type))
        _place(nulls, column.path, pa.int64())
    schema = pa.schema(
        [
            ("numRecords", pa.int64()),
            ("minValues", _struct(bounds)),
            ("maxValues", _struct(bounds)),
            ("nullCount", _struct(nulls)),
        ]
    )
    texts = pc.fill_null(stats, "{}")
    # One line a row: a text that holds a line break, or is blank, would shift the rows after it.
    if pc.any(pc.match_substring_regex(texts, r"[\n\r]|^\s*$")).as_py():
        return None
    lines = pc.binary_join_element_wise(texts, "", "\n").cast(pa.large_string())
    body = pa.py_buffer(lines.buffers()[2])
    try:
        table = pa_json.read_json(
            pa.BufferReader(body),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=max(body.size + 1, 64)),
            parse_options=pa_json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
    except (pa.ArrowException, OverflowError):
        return None
    return table if table.num_rows == len(stats) else None


def _place(tree: dict[str, Any], path: tuple[str, ...], arrow_type: pa.DataType) -> None:
    *parents, name = path
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[name] = arrow_type


def _struct(tree: dict[str, Any]) -> pa.StructType:
    return pa.struct(
        [
            pa.field(name, _struct(child) if isinstance(child, dict) else child)
            for name, child in tree.items()
        ]
    )


def _descend(values: pa.ChunkedArray, path: tuple[str, ...]) -> pa.ChunkedArray:
    for name in path:
        index = values.type.get_field_index(name)
        values = pc.struct_field(values, indices=[index])
    return values


def _at_once(values: pa.ChunkedArray, arrow_type: pa.DataType, *, upper: bool) -> pa.Array | None:
    """Values as JSON types to bounds, or None where some value needs a closer look."""
    column = values.combine_chunks()
    types = pa.types
    try:
        if types.is_floating(arrow_type):
            number = _widen_large(column, upper=upper).cast(arrow_type, safe=False)
            return pc.if_else(pc.is_nan(number), pa.scalar(None, arrow_type), number)
        if types.is_decimal(arrow_type):
            return _decimals_at_once(column, arrow_type)
        if types.is_timestamp(arrow_type):
            return _slacken(column.cast(arrow_type), upper=upper)
        if types.is_string(arrow_type):
            return _raise_strings(column) if upper else column
        return column.cast(arrow_type)
    except pa.ArrowException:
        return None


def _widen_large(numbers: pa.Array, *, upper: bool) -> pa.Array:
    """Doubles that may stand for a whole number they cannot hold, moved outwards.

    A column that is double now may have been long when the file was written.
    """
    size = pc.abs(numbers)
    if not pc.any(pc.greater_equal(size, _EXACT_WHOLE)).as_py():
        return numbers
    step = pc.if_else(pc.greater_equal(size, _EXACT_WHOLE), pc.multiply(size, 2.0**-52), 0.0)
    step = pc.if_else(pc.is_finite(step), step, 0.0)
    return (pc.add if upper else pc.subtract)(numbers, step)


def _slacken(instants: pa.Array, *, upper: bool) -> pa.Array:
    return (pc.add_checked if upper else pc.subtract_checked)(
        instants, pa.scalar(_MILLISECOND_SLACK, pa.duration("us"))
    )


def _raise_strings(column: pa.Array) -> pa.Array:
    cut = pc.greater_equal(pc.utf8_length(column), _STRING_PREFIX_LENGTH)
    for tie_breaker in _OLD_TIE_BREAKERS:
        cut = pc.or_(cut, pc.ends_with(column, tie_breaker))
    if not pc.any(cut).as_py():
        return column
    return pc.if_else(cut, pc.binary_join_element_wise(column, _GREATEST_CHARACTER, ""), column)


def _decimals_at_once(column: pa.Array, arrow_type: pa.Decimal128Type) -> pa.Array | None:
    units = pc.multiply(column, 10.0**arrow_type.scale)
    whole = pc.round(units)
    off = pc.max(pc.abs(pc.subtract(units, whole))).as_py()
    largest = pc.max(pc.abs(whole)).as_py()
    if largest is None:
        return pa.nulls(len(column), arrow_type)
    if off > _UNIT_NOISE or largest >= min(_EXACT_UNITS, 10.0**arrow_type.precision):
        return None
    unscaled = whole.cast(pa.int64()).cast(pa.decimal128(38, 0))
    return pa.Array.from_buffers(arrow_type, len(unscaled), unscaled.buffers())


# --- row by row --------------------------------------------------------------------------------


def _parse_row(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        return _object(json.loads(text, parse_float=decimal.Decimal))
    except (ValueError, RecursionError):
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _pluck(rows: list[dict[str, Any]], path: tuple[str, ...]) -> list[Any]:
    values: list[Any] = list(rows)
    for name in path:
        values = [value.get(name) if isinstance(value, dict) else None for value in values]
    return values


def _one_by_one(values: list[Any], arrow_type: pa.DataType, *, upper: bool) -> pa.Array:
    return pa.array([_single(value, arrow_type, upper=upper) for value in values], arrow_type)


def _single(value: Any, arrow_type: pa.DataType, *, upper: bool) -> Any:
    types = pa.types
    try:
        if value is None:
            return None
        if types.is_floating(arrow_type):
            # "Infinity" and "-Infinity" are bounds, NaN is none
            number = None if isinstance(value, bool) else float(value)
            if number is None or number != number:
                return None
            return _widen_large(pa.array([number]), upper=upper)[0].as_py()
        if types.is_decimal(arrow_type):
            if isinstance(value, bool):
                return None
            rounding = decimal.ROUND_CEILING if upper else decimal.ROUND_FLOOR
            with decimal.localcontext(prec=80):
                exact = decimal.Decimal(value)
                units = exact.quantize(decimal.Decimal(1).scaleb(-arrow_type.scale), rounding)
            return pa.array([units], arrow_type)[0].as_py()
        if types.is_timestamp(arrow_type):
            return _slacken(_instant(value, arrow_type), upper=upper)[0].as_py()
        if types.is_string(arrow_type):
            text = pa.array([value], pa.string())
            return (_raise_strings(text) if upper else text)[0].as_py()
        if types.is_boolean(arrow_type):
            return value if isinstance(value, bool) else None
        if types.is_integer(arrow_type):
            return pa.array([value], arrow_type)[0].as_py() if type(value) is int else None
        return pa.array([value], pa.string()).cast(arrow_type)[0].as_py()
    except (pa.ArrowException, TypeError, ValueError, ArithmeticError):
        return None


def _instant(value: Any, arrow_type: pa.TimestampType) -> pa.Array:
    """A timestamp text of any precision, cut to microseconds."""
    text = pa.array([value], pa.string())
    return text.cast(pa.timestamp("ns", arrow_type.tz)).cast(arrow_type, safe=False)
