"""Numeric literals beside integer, floating-point and decimal columns.

Source: Spark SQL, "ANSI Compliance" (type coercion) and "Data Types".
"""

import decimal
import math
import re
import struct
from dataclasses import dataclass

from headgate.model.schema import Decimal
from headgate.predicates.intervals import Interval, NotComparable
from headgate.predicates.tree import Literal

# Decimal digits that hold every value; values are in [-range, range).
INTEGER_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
INTEGER_RANGE = {"byte": 2**7, "short": 2**15, "integer": 2**31, "long": 2**63}
FLOATING = frozenset({"float", "double"})

_DOUBLE_INTEGERS = 2**53  # below, a double holds every integer
_FLOAT_INTEGERS = 2**24
_FLOAT_MAX = 3.4e38  # a little below the largest single-precision number

_DECIMAL_TEXT = re.compile(r"[+-]?(?=\.?[0-9])[0-9]{0,100}(\.[0-9]{0,100})?([eE][+-]?[0-9]{1,4})?")
_INFINITY_TEXT = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)

# Digits enough for any literal that passes the patterns above.
_CONTEXT = decimal.Context(prec=1000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def parse_decimal_name(name: str) -> tuple[int, int] | None:
    """Precision and scale of `decimal(p,s)`."""
    found = re.fullmatch(r"decimal\((\d{1,3}),(\d{1,3})\)", name)
    return None if found is None else (int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class _Number:
    """A numeric literal. `bits`: 32 or 64 where a client computes with it in floating point."""

    value: decimal.Decimal | float  # float only for infinities
    bits: int | None
    from_text: bool


def _number(literal: Literal, cast: str | None) -> _Number:
    """The literal as a number, under the floating-point cast of the column if there is one."""
    value, declared = literal.value, literal.type
    from_text = isinstance(value, str) and declared is None
    if isinstance(value, bool) or not isinstance(value, int | float | decimal.Decimal | str):
        raise NotComparable("a numeric column is compared with another type")
    if declared is not None and not (
        declared in INTEGER_RANGE or declared in FLOATING or declared.startswith("decimal")
    ):
        raise NotComparable("a numeric column is compared with another type")
    number = _exact_value(value)
    bits = 64 if isinstance(value, float) or declared == "double" or cast == "double" else None
    if declared == "float" or cast == "float":
        bits = 32
    if declared in INTEGER_RANGE:
        limit = INTEGER_RANGE[declared]
        if isinstance(number, float) or not _is_integer(number) or not -limit <= number < limit:
            raise NotComparable("a literal does not fit its type")
    elif declared is not None and declared.startswith("decimal"):
        _check_decimal(number, declared)
    return _Number(number, bits, from_text)


def _exact_value(value: int | float | decimal.Decimal | str) -> decimal.Decimal | float:
    if isinstance(value, str):
        infinity = _INFINITY_TEXT.fullmatch(value)
        if infinity is not None:
            return -math.inf if infinity[1] == "-" else math.inf
        if not _DECIMAL_TEXT.fullmatch(value):
            raise NotComparable("a literal is not a number")
        value = decimal.Decimal(value)
    if isinstance(value, float):
        if math.isnan(value):
            raise NotComparable("a literal is NaN")
        if math.isinf(value):
            return value
    number = decimal.Decimal(value)
    # The double range is within; beyond it no column type holds the value.
    if number and not -400 < number.adjusted() < 400:
        raise NotComparable("a literal is out of range")
    return number


def _check_decimal(number: decimal.Decimal | float, declared: str) -> None:
    sizes = parse_decimal_name(declared)
    if sizes is None or isinstance(number, float):
        raise NotComparable("a literal does not fit its type")
    precision, scale = sizes
    scaled = number.scaleb(scale, _CONTEXT)
    if not _is_integer(scaled) or scaled.copy_abs() >= 10**precision:
        raise NotComparable("a literal does not fit its type")


def _is_integer(number: decimal.Decimal) -> bool:
    return number == number.to_integral_value()


def _scale(number: decimal.Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _between(
    low: decimal.Decimal, high: decimal.Decimal, scale: int
) -> tuple[decimal.Decimal, decimal.Decimal]:
    """`low` rounded down and `high` up, to `scale` digits after the point."""
    unit = decimal.Decimal(1).scaleb(-scale)
    return (
        low.quantize(unit, decimal.ROUND_FLOOR, _CONTEXT),
        high.quantize(unit, decimal.ROUND_CEILING, _CONTEXT),
    )


def _clamped(low: int, high: int) -> Interval:
    """An interval of int64 values: beyond the range, every column value is on one side."""
    least, most = -(2**63), 2**63 - 1
    return Interval(
        None if low < least else min(low, most),
        None if high > most else max(high, least),
    )


def beside_integer(column: str, cast: str | None, literal: Literal) -> Interval:
    number = _number(literal, cast)
    if isinstance(number.value, float):
        return _clamped(2**63, 2**63) if number.value > 0 else _clamped(-(2**64), -(2**64))
    low, high = (int(end) for end in _between(number.value, number.value, 0))
    # Where a client computes in floating point, integers beyond its precision fall together.
    if number.bits is not None or number.from_text or low != high:
        limit = _FLOAT_INTEGERS if number.bits == 32 else _DOUBLE_INTEGERS
        if number.value.copy_abs() > limit - 1:
            raise NotComparable("a literal is beyond the precision of its type")
    if number.bits is None and INTEGER_DIGITS["long"] + _scale(number.value) > 38:
        raise NotComparable("a literal has too many decimals")
    clamped = _clamped(low, high)
    exact = low == high and clamped.low == clamped.high == low
    if number.from_text:
        exact = exact and str(low) == literal.value
    return Interval(clamped.low, clamped.high, exact)


def beside_floating(column: str, cast: str | None, literal: Literal) -> Interval:
    number = _number(literal, cast)
    try:
        nearest = float(number.value)
    except OverflowError:
        nearest = math.inf if number.value > 0 else -math.inf
    if math.isinf(nearest):
        if isinstance(number.value, float):
            return Interval(nearest, nearest)
        raise NotComparable("a literal is out of range")
    low = high = nearest
    if decimal.Decimal(nearest) != number.value:
        low, high = math.nextafter(nearest, -math.inf), math.nextafter(nearest, math.inf)
    if (column == "float" or number.bits == 32) and _single(nearest) != nearest:
        # One unit of single precision either way, and the least number that it holds.
        slack = abs(nearest) * 2.0**-22 + 2.0**-148
        low, high = low - slack, high + slack
        if high >= _FLOAT_MAX:
            high = math.inf
        if low <= -_FLOAT_MAX:
            low = -math.inf
    return Interval(low, high)


def _single(value: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def beside_decimal(column: Decimal, cast: str | None, literal: Literal) -> Interval:
    number = _number(literal, cast)
    if isinstance(number.value, float):
        raise NotComparable("a decimal column is compared with an infinity")
    low = high = number.value
    exact = False
    if number.bits is not None or number.from_text:
        relative = decimal.Decimal("1e-6" if number.bits == 32 else "1e-14")
        slack = _CONTEXT.multiply(number.value.copy_abs(), relative)
        low, high = _CONTEXT.subtract(low, slack), _CONTEXT.add(high, slack)
    else:
        # A common type of more than 38 digits makes Spark round both sides.
        integral = max(column.precision - column.scale, number.value.adjusted() + 1)
        if integral + max(column.scale, _scale(number.value)) > 38:
            raise NotComparable("a literal has too many digits")
        exact = True
    low, high = _between(low, high, column.scale)
    limit = decimal.Decimal(10) ** (38 - column.scale)
    if not -limit < low <= high < limit:
        raise NotComparable("a literal is out of range")
    return Interval(low, high, exact and low == high)
