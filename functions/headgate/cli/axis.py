"""The value axis of a picture: where values of one column lie, and which of them to write."""

import datetime
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headgate.predicates.bind import BoundColumn
from headgate.query.extents import Extent

_EPOCH = datetime.datetime(1970, 1, 1)
_DAY_US = 86_400_000_000
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_SECONDS = (
    *(1, 5, 15, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY),
)
_MOST_TICKS = 6
# How far beyond the values, in shares of their range, a literal may widen the axis.
_STRETCH = 0.5


@dataclass(frozen=True, slots=True)
class Axis:
    """`place` gives 0 for the axis' low end and 1 for its high one; what lies beyond is cut."""

    place: Callable[[Any], float]
    ticks: Sequence[tuple[float, str]]


def value_axis(
    column: BoundColumn,
    shown: Sequence[Extent],
    wanted: Sequence[Extent],
    text: Callable[[Any], str],
) -> Axis:
    """The axis for ranges of a column (units: `predicates.intervals.Interval`).

    Numbers and moments lie at their distance. Strings have none, nor have numbers that are further
    apart than a float can tell: they lie in even steps by their order.
    """
    values = [end for extent in shown for end in _ends(extent)]
    limits = [end for extent in wanted for end in _ends(extent)]
    if pa.types.is_binary(column.domain):
        return _ordered(sorted({*values, *limits}), text)
    low, high = _reach([float(v) for v in values], [float(v) for v in limits])
    if not math.isfinite(high - low):
        return _ordered(sorted({*values, *limits}), text)

    def place(value: Any) -> float:
        return min(1.0, max(0.0, (float(value) - low) / (high - low)))

    marks = _marks(column.domain, low, high)
    return Axis(place, [(place(mark), text(mark)) for mark in marks])


def _ends(extent: Extent) -> list[Any]:
    ends = [end for end in (extent.low, extent.high) if end is not None]
    return [end for end in ends if not isinstance(end, float) or math.isfinite(end)]


def _ordered(values: Sequence[Any], text: Callable[[Any], str]) -> Axis:
    last = max(1, len(values) - 1)

    def place(value: Any) -> float:
        return 0.03 + 0.94 * min(bisect_left(values, value), last) / last

    step = max(1, -(-last // (_MOST_TICKS - 1)))
    ticks = [(place(value), text(value)) for value in values[::step]]
    return Axis(place, ticks)


def _reach(values: Sequence[float], limits: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis that shows all values, and the limits that are not far from them."""
    low, high = min(values or limits or [0.0]), max(values or limits or [1.0])
    far = (high - low) * _STRETCH or 1.0
    near = [limit for limit in limits if low - far <= limit <= high + far]
    low, high = min([low, *near]), max([high, *near])
    size = max(abs(low), abs(high))
    # What floats can hardly tell apart is drawn as one value.
    one = high - low <= max(size * 1e-13, 1e-300)
    margin = max(1.0, size * 0.01) if one else (high - low) * 0.04
    return low - margin, high + margin


def _marks(domain: pa.DataType, low: float, high: float) -> list[Any]:
    """Round values on the axis, in the column's unit."""
    if pa.types.is_date32(domain):
        return _moments(1, low, high)
    if pa.types.is_timestamp(domain):
        return _moments(_DAY_US, low, high)
    whole = bool(pa.types.is_integer(domain))
    step = _round_step((high - low) / (_MOST_TICKS - 1), whole=whole)
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [int(number * step) if whole else number * step for number in numbers]


def _moments(day: int, low: float, high: float) -> list[int]:
    """Round dates (`day` is 1) or times of day (`day` in smaller units)."""
    months = _months(low / day, high / day)
    if len(months) > 2:
        return [number * day for number in months]
    steps = [day * part // 86_400 for part in _SECONDS if day * part % 86_400 == 0]
    fitting = (step for step in steps if (high - low) / step < _MOST_TICKS)
    step = next(fitting, 0)
    if not 0 < step <= (high - low) / 2:  # below seconds, or beyond the dates that Python has
        step = int(_round_step((high - low) / (_MOST_TICKS - 1), whole=True))
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _months(low: float, high: float) -> list[int]:
    """First days of months between two days since 1970, in even steps; none where Python has no
    such dates.
    """
    try:
        start, end = (_EPOCH + datetime.timedelta(days=day) for day in (low, high))
    except OverflowError:
        return []
    first, last = start.year * 12 + start.month, end.year * 12 + end.month - 1
    count = last - first + 1
    steps = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)
    step = next(each for each in steps if count <= each * _MOST_TICKS)
    whole = [month for month in range(first, last + 1) if month % step == 0]
    return [(datetime.date(m // 12, m % 12 + 1, 1) - _EPOCH.date()).days for m in whole]


def _round_step(raw: float, *, whole: bool) -> float:
    """The next step of 1, 2 or 5 times a power of ten."""
    power: float = 10.0 ** math.floor(math.log10(raw))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= raw * 0.999)
    return max(1.0, step) if whole else step
