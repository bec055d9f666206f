"""How a base's files are ordered, so that zone maps prune: partition values, then one column.

The column is the one of whose values a query meets the fewest files, measured on a sample.
"""

import struct
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.columns import IndexedColumn
from headgate.manifest.partition_values import raw_values
from headgate.manifest.stats import parse_stats

# A column of whose values a query meets more than this share of the files orders nothing.
_WORTHLESS_SHARE = 0.5


def choose_column(stats: pa.Array, columns: Sequence[IndexedColumn]) -> IndexedColumn | None:
    """The column to order files by, judged by a sample of their stats (JSON); None if none helps.

    For each column: the mean share of files whose range holds the minimum of a file.
    """
    parsed = parse_stats(stats, columns)
    best, best_share = None, _WORTHLESS_SHARE
    for place, found in parsed.columns.items():
        if found.minimum is None or found.maximum is None:
            continue
        known = pc.and_(pc.is_valid(found.minimum), pc.is_valid(found.maximum))
        low, high = found.minimum.filter(known), found.maximum.filter(known)
        if len(low) < max(2, len(stats) // 2):
            continue
        share = _overlap(low, high)
        if share < best_share:
            best, best_share = columns[place], share
    return best


def _overlap(low: pa.Array, high: pa.Array) -> float:
    """The mean share of ranges [low, high] that hold a range's low end: 1/n where none overlap."""
    size = len(low)
    # Place of each low end among the sorted lows and highs together; a low sorts before an equal
    # high, so that ranges that touch count as overlapping.
    ends = pa.table(
        {
            "value": pa.concat_arrays([low, high]),
            "is_high": pa.array([0] * size + [1] * size, pa.int8()),
        }
    )
    order = pc.sort_indices(ends, sort_keys=[("value", "ascending"), ("is_high", "ascending")])
    is_high = ends["is_high"].combine_chunks().take(order)
    closed = pc.cumulative_sum(is_high.cast(pa.int64()))
    opened = pc.subtract(pa.array(range(1, 2 * size + 1), pa.int64()), closed)
    holding = pc.subtract(opened, closed).filter(pc.equal(is_high, 0))
    return float(pc.mean(holding).as_py()) / size


def cluster_keys(
    actions: pa.RecordBatch, columns: Sequence[IndexedColumn], chosen: IndexedColumn | None
) -> pa.Array:
    """A binary key per file whose byte order is the order of the base: partition values in their
    order, then the lower bound of `chosen`; unknown values first.
    """
    pieces: list[pa.Array] = []
    for column in columns:
        if column.partition:
            raw = raw_values(actions.column("partition_values"), column.path[0])
            encoded = raw.dictionary_encode()
            typed = pa.array(
                [sort_bytes(_typed(text, column)) for text in encoded.dictionary.to_pylist()],
                pa.binary(),
            )
            pieces.append(pc.fill_null(typed.take(encoded.indices), b"\x00"))
    if chosen is not None:
        parsed = parse_stats(actions.column("stats"), [chosen]).columns.get(0)
        if parsed is not None and parsed.minimum is not None:
            lows = [sort_bytes(value) for value in _comparable(parsed.minimum)]
            pieces.append(pa.array(lows, pa.binary()))
    if not pieces:
        return pa.repeat(pa.scalar(b"", pa.binary()), actions.num_rows)
    return pc.binary_join_element_wise(*pieces, b"")


def _typed(text: str | None, column: IndexedColumn) -> object:
    if text is None:
        return None
    arrow_type = column.arrow_type
    if arrow_type is not None and pa.types.is_integer(arrow_type):
        try:
            return int(text)
        except ValueError:
            return text
    return text  # dates and timestamps in ISO form sort as text


def _comparable(values: pa.Array) -> list[object]:
    if pa.types.is_temporal(values.type):
        width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
        values = values.cast(width)
    elif pa.types.is_decimal(values.type) or pa.types.is_boolean(values.type):
        values = values.cast(pa.float64())
    return list(values.to_pylist())


def sort_bytes(value: object) -> bytes:
    """Bytes that sort as the value does among values of its kind, and end unambiguously."""
    if value is None:
        return b"\x00"
    if isinstance(value, int):
        return b"\x01" + (value + 2**63).to_bytes(8, "big", signed=False)
    if isinstance(value, float):
        bits: int = struct.unpack(">Q", struct.pack(">d", value))[0]
        return b"\x01" + (bits ^ (2**64 - 1 if bits >> 63 else 1 << 63)).to_bytes(8, "big")
    return b"\x01" + str(value).encode("utf-8", "surrogatepass").replace(b"\x00", b"\x01") + b"\x00"
