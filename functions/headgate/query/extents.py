"""Ranges of one column, of files and of a predicate, as plain values that can be drawn."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headgate.predicates.bind import (
    BoundAnd,
    BoundColumn,
    BoundCompare,
    BoundConstant,
    BoundIn,
    BoundOr,
    BoundPredicate,
    BoundPrefix,
)
from headgate.predicates.bounds import Bounds
from headgate.predicates.tree import Comparison


@dataclass(frozen=True, slots=True)
class Extent:
    """From `low` to `high`, in the units of `predicates.intervals.Interval`.

    None is unbounded (of a predicate) or unknown (of files).
    """

    low: Any
    high: Any


UNKNOWN = Extent(None, None)


def range_columns(bound: BoundPredicate) -> Iterator[BoundColumn]:
    """The columns that a predicate compares with a range, in its order."""
    match bound:
        case BoundAnd(children) | BoundOr(children):
            for child in children:
                yield from range_columns(child)
        case BoundCompare(op, column, _) if op is not Comparison.NOT_EQUAL:
            yield column
        case BoundIn(column, _):
            yield column
        case BoundPrefix(column, _, _, negated) if not negated:
            yield column


def wanted(bound: BoundPredicate, column: BoundColumn) -> tuple[Extent, ...]:
    """Where values of `column` may lie in rows that match: disjoint, ascending, ends included.

    An outer bound, for pictures: what the predicate says of other columns is left aside.
    """
    match bound:
        case BoundAnd(children):
            extents: Sequence[Extent] = (Extent(None, None),)
            for child in children:
                extents = _both(extents, wanted(child, column))
            return tuple(extents)
        case BoundOr(children):
            return _either(extent for child in children for extent in wanted(child, column))
        case BoundConstant(matches):
            return (Extent(None, None),) if matches else ()
        case BoundIn(other, intervals) if other == column:
            return tuple(Extent(each.low, each.high) for each in intervals)
        case BoundPrefix(other, low, high, negated) if other == column and not negated:
            return (Extent(low, high),)
        case BoundCompare(op, other, interval) if other == column:
            match op:
                case Comparison.EQUAL:
                    return (Extent(interval.low, interval.high),)
                case Comparison.LESS | Comparison.LESS_OR_EQUAL:
                    return (Extent(None, interval.high),)
                case Comparison.GREATER | Comparison.GREATER_OR_EQUAL:
                    return (Extent(interval.low, None),)
    return (Extent(None, None),)


def _both(left: Iterable[Extent], right: Sequence[Extent]) -> list[Extent]:
    met = []
    for a in left:
        for b in right:
            lows = [low for low in (a.low, b.low) if low is not None]
            highs = [high for high in (a.high, b.high) if high is not None]
            low, high = max(lows, default=None), min(highs, default=None)
            if low is None or high is None or low <= high:
                met.append(Extent(low, high))
    return met


def _either(extents: Iterable[Extent]) -> tuple[Extent, ...]:
    joined: list[Extent] = []
    for each in sorted(extents, key=lambda e: (e.low is not None, 0 if e.low is None else e.low)):
        last = joined[-1] if joined else None
        if last is None or (
            last.high is not None and each.low is not None and each.low > last.high
        ):
            joined.append(each)
        else:
            open_end = last.high is None or each.high is None
            joined[-1] = Extent(last.low, None if open_end else max(last.high, each.high))
    return tuple(joined)


def extents_of(bounds: Bounds, column: BoundColumn) -> list[Extent]:
    """The outer bounds of `column` for each file or zone; unknown ends are None."""
    known = bounds.column(column.physical)
    nothing = [UNKNOWN] * bounds.length
    if known is None:
        return nothing
    low, high = _plain(known.minimum, column), _plain(known.maximum, column)
    if low is None or high is None:
        return nothing
    return [Extent(*ends) for ends in zip(low, high, strict=True)]


def around(extents: Sequence[Extent]) -> Extent:
    """One extent around several; an end that one of them does not know is not known."""
    lows, highs = [each.low for each in extents], [each.high for each in extents]
    return Extent(
        None if None in lows or not lows else min(lows),
        None if None in highs or not highs else max(highs),
    )


def _plain(values: pa.Array, column: BoundColumn) -> list[Any] | None:
    if pa.types.is_null(values.type):
        return None
    try:
        if not pa.types.is_decimal(column.domain):
            values = values.cast(column.domain)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None  # of a type that the column had before, as `predicates.evaluate` sees it
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    # NaN, which is not equal to itself, bounds nothing.
    return [value if value == value else None for value in values.to_pylist()]
