"""Which files might hold a row that a bound predicate matches.

One rule decides everything: a file is dropped only on proof that none of its rows match. What is
not known (no bounds, a null bound, an Unknown part) keeps the file.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headgate.predicates.bind import (
    BoundAnd,
    BoundColumn,
    BoundCompare,
    BoundConstant,
    BoundIn,
    BoundNull,
    BoundOr,
    BoundPredicate,
    BoundPrefix,
)
from headgate.predicates.bounds import Bounds
from headgate.predicates.intervals import Interval
from headgate.predicates.tree import Comparison, Unknown

# Up to here a comparison with each interval is faster than a search in all of them.
_FEW_INTERVALS = 12


def might_match(bound: BoundPredicate, bounds: Bounds) -> pa.BooleanArray:
    """True for each file (or group of files) that might hold a matching row; never null."""
    match bound:
        case Unknown():
            return _constant(True, bounds)
        case BoundConstant(matches):
            return _constant(matches, bounds)
        case BoundAnd(children):
            return _reduce(pc.and_, children, bounds)
        case BoundOr(children):
            return _reduce(pc.or_, children, bounds)
        case BoundNull(physical, is_null):
            known = bounds.column(physical)
            if known is None:
                return _constant(True, bounds)
            return known.may_be_null if is_null else known.may_be_value
        case BoundCompare(op, column, interval):
            return _leaf(
                column, bounds, lambda low, high: _excluded(op, column, interval, low, high)
            )
        case BoundIn(column, intervals):
            return _leaf(column, bounds, lambda low, high: _outside(column, intervals, low, high))
        case BoundPrefix():
            return _leaf(bound.column, bounds, lambda low, high: _prefix(bound, low, high))


def _constant(value: bool, bounds: Bounds) -> pa.BooleanArray:
    return pa.repeat(value, bounds.length)


def _reduce(
    combine: Callable[[pa.BooleanArray, pa.BooleanArray], pa.BooleanArray],
    children: Sequence[BoundPredicate],
    bounds: Bounds,
) -> pa.BooleanArray:
    kept = might_match(children[0], bounds)
    for child in children[1:]:
        kept = combine(kept, might_match(child, bounds))
    return kept


def _leaf(
    column: BoundColumn,
    bounds: Bounds,
    excluded: Callable[[pa.Array, pa.Array], pa.BooleanArray | None],
) -> pa.BooleanArray:
    """Files with some value of the column, but where the bounds exclude a match.

    `excluded(minimum, maximum)`: True where no value between can match; null or false elsewhere;
    None where no bounds can tell.
    """
    known = bounds.column(column.physical)
    if known is None:
        return _constant(True, bounds)
    minimum, maximum = _in_domain(known.minimum, column), _in_domain(known.maximum, column)
    if minimum is None or maximum is None:
        return known.may_be_value
    proven = excluded(minimum, maximum)
    if proven is None:
        return known.may_be_value
    return pc.and_not(known.may_be_value, pc.fill_null(proven, False))


def _in_domain(array: pa.Array, column: BoundColumn) -> pa.Array | None:
    """The bounds in the type they are compared in, or None where they do not fit it.

    Under type widening the bounds of an old file are of the type the column had then.
    """
    if array.type == column.domain:
        return array
    if _same_scale(array.type, column.domain):
        return array  # compared as it is, whatever the precision
    try:
        return array.cast(column.domain)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _same_scale(held: pa.DataType, domain: pa.DataType) -> bool:
    both = pa.types.is_decimal128(held) and pa.types.is_decimal128(domain)
    return both and bool(held.scale == domain.scale)


def _scalar(value: object, column: BoundColumn) -> pa.Scalar:
    if pa.types.is_date32(column.domain):
        return pa.scalar(value, pa.int32()).cast(column.domain)
    if pa.types.is_timestamp(column.domain):
        return pa.scalar(value, pa.int64()).cast(column.domain)
    return pa.scalar(value, column.domain)


def _excluded(
    op: Comparison,
    column: BoundColumn,
    interval: Interval,
    minimum: pa.Array,
    maximum: pa.Array,
) -> pa.BooleanArray | None:
    low = None if interval.low is None else _scalar(interval.low, column)
    high = None if interval.high is None else _scalar(interval.high, column)
    match op:
        case Comparison.EQUAL:
            below = None if low is None else pc.less(maximum, low)
            above = None if high is None else pc.greater(minimum, high)
            if below is None or above is None:
                return below if above is None else above
            return pc.or_kleene(below, above)
        case Comparison.LESS:
            return None if high is None else pc.greater_equal(minimum, high)
        case Comparison.LESS_OR_EQUAL:
            return None if high is None else pc.greater(minimum, high)
        case Comparison.GREATER:
            if low is None or column.may_hold_nan:
                return None
            return pc.less_equal(maximum, low)
        case Comparison.GREATER_OR_EQUAL:
            if low is None or column.may_hold_nan:
                return None
            return pc.less(maximum, low)
        case Comparison.NOT_EQUAL:
            if low is None or not interval.exact or column.may_hold_nan:
                return None
            return pc.and_(pc.equal(minimum, low), pc.equal(maximum, low))
    raise AssertionError(f"{op} is not bound")


def _outside(
    column: BoundColumn, intervals: Sequence[Interval], minimum: pa.Array, maximum: pa.Array
) -> pa.BooleanArray:
    """Where [minimum, maximum] meets none of the sorted, disjoint intervals."""
    if len(intervals) <= _FEW_INTERVALS:
        proven = None
        for each in intervals:
            apart = _excluded(Comparison.EQUAL, column, each, minimum, maximum)
            proven = apart if proven is None else pc.and_(proven, apart)
        return proven
    lows = pa.concat_arrays([_array(each.low, column) for each in intervals])
    highs = pa.concat_arrays([_array(each.high, column) for each in intervals])
    # The first interval that ends at the minimum or above decides: those before end too low.
    first = _first_at_least(highs, minimum)
    beyond = pc.equal(first, _index(len(intervals)))
    candidate = lows.take(_least(first, _index(len(intervals) - 1)))
    return pc.or_kleene(beyond, pc.greater(candidate, maximum))


def _array(value: object, column: BoundColumn) -> pa.Array:
    return pa.repeat(_scalar(value, column), 1)


def _first_at_least(ends: pa.Array, values: pa.Array) -> pa.Array:
    """For each value the index of the first end ≥ it, `len(ends)` without one; null for null.

    A binary search of all values at once.
    """
    # NaN is not equal to itself: it has no place in the order, and gets a null too.
    low = pc.if_else(pc.equal(values, values), _index(0), _index(None))
    high = pc.add(low, _index(len(ends)))
    for _ in range(len(ends).bit_length()):
        middle = pc.shift_right(pc.add(low, high), _index(1))
        probe = ends.take(_least(middle, _index(len(ends) - 1)))
        # A search that has ended (low = high) stays where it is.
        left = pc.or_(pc.greater_equal(probe, values), pc.equal(low, high))
        high = pc.if_else(left, _least(middle, high), high)
        low = pc.if_else(left, low, pc.add(middle, _index(1)))
    return low


def _index(value: int | None) -> pa.Scalar:
    return pa.scalar(value, pa.int32())


def _least(left: pa.Array, right: pa.Array | pa.Scalar) -> pa.Array:
    return pc.min_element_wise(left, right, skip_nulls=False)


def _prefix(bound: BoundPrefix, minimum: pa.Array, maximum: pa.Array) -> pa.BooleanArray:
    low, high = pa.scalar(bound.low, pa.binary()), pa.scalar(bound.high, pa.binary())
    if bound.negated:
        return pc.and_(pc.greater_equal(minimum, low), pc.less(maximum, high))
    return pc.or_kleene(pc.less(maximum, low), pc.greater_equal(minimum, high))
