"""What a literal means beside a column: an interval of the column's own values.

A client compares a column with a literal after casts of its own (Spark SQL's type coercion, a
session time zone, single precision…) that the hint does not tell. So a literal becomes an interval
that holds every place where a reasonable client can see the border between the column's values
that compare below it, equal to it and above it. Where there is no such interval, NotComparable.

Source: Spark SQL, "ANSI Compliance" (type coercion).
"""

from headgate.model.schema import Decimal, Primitive
from headgate.predicates.intervals import Interval, NotComparable
from headgate.predicates.moments import beside_date, beside_timestamp
from headgate.predicates.numeric import (
    FLOATING,
    INTEGER_DIGITS,
    INTEGER_RANGE,
    beside_decimal,
    beside_floating,
    beside_integer,
    parse_decimal_name,
)
from headgate.predicates.tree import Literal

# Within a session's time zone; timestamps to timestamp_ntz would fold where clocks go back.
_ORDERED_CASTS = frozenset(
    {
        ("float", "double"),
        ("date", "timestamp"),
        ("date", "timestamp_ntz"),
        ("timestamp", "date"),
        ("timestamp_ntz", "date"),
        ("timestamp_ntz", "timestamp"),
    }
)


def keeps_order(column: Primitive | Decimal, cast: str | None) -> bool:
    """Whether casting the column is sure to keep its values' order, and to make none null."""
    if cast is None or cast == column.name:
        return True
    sizes = parse_decimal_name(cast)
    if isinstance(column, Decimal):
        integral = column.precision - column.scale
        return cast in FLOATING or (
            sizes is not None and sizes[1] >= column.scale and sizes[0] - sizes[1] >= integral
        )
    if column.name in INTEGER_RANGE:
        if sizes is not None:
            return sizes[0] - sizes[1] >= INTEGER_DIGITS[column.name]
        wider = INTEGER_RANGE.get(cast, 0) >= INTEGER_RANGE[column.name]
        return wider or cast in FLOATING
    return (column.name, cast) in _ORDERED_CASTS


def interval(column: Primitive | Decimal, cast: str | None, literal: Literal) -> Interval:
    """The interval of a non-null literal beside a column that the hint casts to `cast`, if it does.

    Raises NotComparable, also where the cast may change the order of the column's values.
    """
    if not keeps_order(column, cast):
        raise NotComparable("a cast of a column that may change its order")
    if cast == column.name:
        cast = None
    if isinstance(column, Decimal):
        return beside_decimal(column, cast, literal)
    match column.name:
        case "byte" | "short" | "integer" | "long":
            return beside_integer(column.name, cast, literal)
        case "float" | "double":
            return beside_floating(column.name, cast, literal)
        case "string":
            return _beside_string(literal)
        case "boolean":
            return _beside_boolean(literal)
        case "date":
            return beside_date(cast, literal)
        case "timestamp" | "timestamp_ntz":
            return beside_timestamp(column.name, cast, literal)
    raise NotComparable(f"comparisons on {column.name} columns are not used")


def _beside_string(literal: Literal) -> Interval:
    if not isinstance(literal.value, str) or literal.type not in (None, "string"):
        raise NotComparable("a string column is compared with another type")
    encoded = utf8(literal.value)
    return Interval(encoded, encoded, exact=True)


def utf8(text: str) -> bytes:
    """The bytes that strings compare by. Raises NotComparable on a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NotComparable("a literal is not valid Unicode") from None


def _beside_boolean(literal: Literal) -> Interval:
    value = literal.value
    if isinstance(value, bool) and literal.type in (None, "boolean"):
        return Interval(int(value), int(value), exact=True)
    if isinstance(value, str) and literal.type in (None, "boolean"):
        truth = {"true": 1, "false": 0}.get(value.lower())
        if truth is not None:
            exact = literal.type == "boolean" or value.islower()
            return Interval(truth, truth, exact)
    raise NotComparable("a boolean column is compared with another type")
