"""A checkpoint's typed columns as the text that commits hold: statistics as JSON, partition values.

Everything is done column by column with Arrow kernels. Nothing is rounded: a bound that has no
exact text is left out, which tells less but never wrongly.
Source: Delta protocol, "Checkpoint Schema", "Per-file Statistics", "Partition Value Serialization".
"""

from collections.abc import Sequence

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

_STATISTICS = ("numRecords", "minValues", "maxValues", "nullCount", "tightBounds")
# Years that ISO 8601 writes with four digits.
_FIRST_YEAR, _LAST_YEAR = 1, 9999


def stats_json(stats: pa.StructArray, instants: frozenset[str] = frozenset()) -> pa.StringArray:
    """`stats_parsed` as the JSON text of `stats`; null where it holds nothing.

    `instants` are the dotted paths within `stats_parsed` of columns of Parquet's INT96 type: they
    are timestamps though their Arrow type has no zone. Decimals are numbers with every digit;
    32-bit floats are written with the digits of the equal 64-bit one; NaN and infinities are
    strings; timestamps have milliseconds, or microseconds where they need them, and `Z` unless
    they are timestamp_ntz. Binary values are left out.
    """
    children = _children(stats)
    members = [
        (name, text)
        for name in _STATISTICS
        if name in children and (text := _json(children[name], name, instants)) is not None
    ]
    return _object(members, len(stats))


def partition_texts(values: pa.StructArray, instants: frozenset[str]) -> dict[str, pa.StringArray]:
    """The partition columns of `partitionValues_parsed`, as `partitionValues` would write them.

    A column of a type that partition values cannot have is left out.
    """
    texts = {}
    for name, child in _children(values).items():
        text = _partition_text(child, name in instants)
        if text is not None:
            texts[name] = text
    return texts


def _children(struct: pa.StructArray) -> dict[str, pa.Array]:
    """By name; a child is null wherever its parent is (`flatten` sees to that)."""
    return dict(zip((field.name for field in struct.type), struct.flatten(), strict=True))


def _json(array: pa.Array, path: str, instants: frozenset[str]) -> pa.StringArray | None:
    if pt.is_struct(array.type):
        members = [
            (name, text)
            for name, child in _children(array).items()
            if (text := _json(child, f"{path}.{name}", instants)) is not None
        ]
        return _object(members, len(array))
    if pt.is_floating(array.type):
        return _float_json(array)
    if _is_text(array.type):
        return _quoted(array)
    if pt.is_date(array.type) or pt.is_timestamp(array.type):
        text = _moment(array, path in instants)
        return pc.binary_join_element_wise('"', text, '"', "")
    if pt.is_integer(array.type) or pt.is_boolean(array.type) or pt.is_decimal(array.type):
        return pc.cast(array, pa.string())
    return None


def _object(members: Sequence[tuple[str, pa.StringArray]], length: int) -> pa.StringArray:
    """One JSON object a row, without its null members; null where none is left."""
    if not members:
        return pa.nulls(length, pa.string())
    # (Joining with the separator "," and nulls skipped would drop the rows in which all are null.)
    named = [
        pc.binary_join_element_wise(orjson.dumps(name).decode() + ":", text, ",", "")
        for name, text in members
    ]
    body = pc.binary_join_element_wise(*named, "", null_handling="replace", null_replacement="")
    some = pc.not_equal(body, "")
    whole = pc.binary_join_element_wise("{", pc.utf8_rtrim(body, ","), "}", "")
    return pc.if_else(some, whole, pa.scalar(None, pa.string()))


def _float_json(array: pa.Array) -> pa.StringArray:
    wide = pc.cast(array, pa.float64())
    text = pc.cast(wide, pa.string())
    # Arrow writes whole numbers without a point, and would make -0 an integer.
    whole = pc.match_substring_regex(text, "^-?[0-9]+$")
    text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    named = pc.if_else(
        pc.is_nan(wide), '"NaN"', pc.if_else(pc.greater(wide, 0.0), '"Infinity"', '"-Infinity"')
    )
    return pc.if_else(pc.is_finite(wide), text, named)


def _quoted(array: pa.Array) -> pa.StringArray:
    text = pc.cast(array, pa.string())
    if pc.any(pc.match_substring_regex(text, r"[\x00-\x1f]")).as_py():
        return pa.array(
            [None if v is None else orjson.dumps(v).decode() for v in text.to_pylist()],
            pa.string(),
        )
    escaped = pc.replace_substring(text, "\\", "\\\\")
    escaped = pc.replace_substring(escaped, '"', '\\"')
    return pc.binary_join_element_wise('"', escaped, '"', "")


def _moment(array: pa.Array, instant: bool) -> pa.StringArray:
    """A date or timestamp in ISO 8601; null outside the years that have four digits."""
    year = pc.year(array)
    usual = pc.and_(pc.greater_equal(year, _FIRST_YEAR), pc.less_equal(year, _LAST_YEAR))
    array = pc.if_else(usual, array, pa.scalar(None, array.type))
    if pt.is_date(array.type):
        return pc.cast(pc.cast(array, pa.date32()), pa.string())
    zone = "Z" if instant or array.type.tz is not None else ""
    local = pc.cast(array, pa.timestamp(array.type.unit))
    text = pc.cast(_at_least_ms(local), pa.string())
    if local.type.unit in ("us", "ns"):
        whole = pc.equal(local, pc.floor_temporal(local, unit="millisecond"))
        in_ms = pc.cast(pc.cast(local, pa.timestamp("ms"), safe=False), pa.string())
        text = pc.if_else(whole, in_ms, text)
    return pc.binary_join_element_wise(pc.replace_substring(text, " ", "T"), zone, "")


def _at_least_ms(array: pa.Array) -> pa.Array:
    return pc.cast(array, pa.timestamp("ms")) if array.type.unit == "s" else array


def _partition_text(array: pa.Array, instant: bool) -> pa.StringArray | None:
    if _is_text(array.type):
        return pc.cast(array, pa.string())
    if pt.is_timestamp(array.type) and (instant or array.type.tz is not None):
        return _moment(array, True)
    if pt.is_timestamp(array.type):
        return pc.replace_substring(_moment(array, False), "T", " ")
    if pt.is_date(array.type):
        return _moment(array, False)
    if pt.is_floating(array.type):
        return pc.replace_substring(_float_json(array), '"', "")
    if pt.is_integer(array.type) or pt.is_boolean(array.type) or pt.is_decimal(array.type):
        return pc.cast(array, pa.string())
    return None


def _is_text(data_type: pa.DataType) -> bool:
    if pt.is_dictionary(data_type):
        return _is_text(data_type.value_type)
    return bool(pt.is_string(data_type) or pt.is_large_string(data_type))
