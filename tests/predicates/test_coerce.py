import datetime as dt
import math
from decimal import Decimal

import pytest

from headgate.model.schema import Decimal as DecimalType
from headgate.model.schema import Primitive
from headgate.predicates.coerce import interval, keeps_order
from headgate.predicates.intervals import Interval, NotComparable
from headgate.predicates.tree import Literal

DAY = 86_400_000_000
HOUR = 3_600_000_000
MOST = 2**63 - 1
NEW_YEAR_DAY = (dt.date(2021, 1, 1) - dt.date(1970, 1, 1)).days
NEW_YEAR = NEW_YEAR_DAY * DAY
TENTH = 0.1
SINGLE_TENTH = 0.10000000149011612


def exact(value):
    return Interval(value, value, exact=True)


def column(name):
    if name.startswith("decimal"):
        precision, scale = name[8:-1].split(",")
        return DecimalType(int(precision), int(scale))
    return Primitive(name)


@pytest.mark.parametrize(
    ("name", "cast", "literal", "expected"),
    [
        ("integer", None, Literal(5), exact(5)),
        ("byte", "long", Literal(300, "long"), exact(300)),
        ("long", None, Literal(2**70), Interval(MOST, None)),
        ("long", None, Literal(-(2**70)), Interval(None, -(2**63))),
        ("long", None, Literal(math.inf), Interval(MOST, None)),
        ("long", None, Literal(-math.inf), Interval(None, -(2**63))),
        ("integer", None, Literal(Decimal("1.5")), Interval(1, 2)),
        ("integer", None, Literal(Decimal("-1.5")), Interval(-2, -1)),
        ("integer", None, Literal(1.5), Interval(1, 2)),
        ("integer", None, Literal("7"), exact(7)),
        ("integer", None, Literal("07"), Interval(7, 7)),
        ("integer", None, Literal("7.5"), Interval(7, 8)),
        ("integer", "integer", Literal("25", "integer"), exact(25)),
        ("integer", "double", Literal("2.5", "double"), Interval(2, 3)),
        ("integer", "decimal(12,2)", Literal(Decimal("2.50"), "decimal(12,2)"), Interval(2, 3)),
        ("double", None, Literal(TENTH), Interval(TENTH, TENTH)),
        ("double", None, Literal(5), Interval(5.0, 5.0)),
        ("double", None, Literal("Infinity", "double"), Interval(math.inf, math.inf)),
        (
            "double",
            None,
            Literal(Decimal("0.1")),
            Interval(math.nextafter(TENTH, 0), math.nextafter(TENTH, 1)),
        ),
        ("float", "double", Literal(1.5), Interval(1.5, 1.5)),
        ("decimal(5,2)", None, Literal(Decimal("1.5")), exact(Decimal("1.50"))),
        (
            "decimal(5,2)",
            None,
            Literal(Decimal("1.555")),
            Interval(Decimal("1.55"), Decimal("1.56")),
        ),
        ("decimal(5,2)", None, Literal(10**30), exact(Decimal(10**30))),
        ("decimal(5,2)", None, Literal(1.5), Interval(Decimal("1.49"), Decimal("1.51"))),
        ("decimal(5,2)", "decimal(9,3)", Literal(Decimal("1.5")), exact(Decimal("1.5"))),
        ("string", None, Literal("é"), exact("é".encode())),
        ("boolean", None, Literal(True), exact(1)),
        ("boolean", "boolean", Literal("False", "boolean"), exact(0)),
        ("boolean", None, Literal("TRUE"), Interval(1, 1)),
        ("date", None, Literal("2021-01-01"), exact(NEW_YEAR_DAY)),
        ("date", "date", Literal(dt.date(2021, 1, 1), "date"), exact(NEW_YEAR_DAY)),
        ("date", None, Literal("2021-01-01 10:00"), Interval(NEW_YEAR_DAY - 1, NEW_YEAR_DAY + 1)),
        (
            "date",
            None,
            Literal("2021-01-01", "timestamp"),
            Interval(NEW_YEAR_DAY - 1, NEW_YEAR_DAY + 1),
        ),
        (
            "date",
            None,
            Literal("2021-01-01T00:00:00Z", "timestamp"),
            Interval(NEW_YEAR_DAY - 2, NEW_YEAR_DAY + 3),
        ),
        ("timestamp", None, Literal("2021-01-01T00:00:00Z"), exact(NEW_YEAR)),
        (
            "timestamp",
            None,
            Literal("2021-01-01 00:00:00+02:00", "timestamp"),
            exact(NEW_YEAR - 2 * HOUR),
        ),
        (
            "timestamp",
            None,
            Literal("2021-01-01T00:00:00.0000015Z"),
            Interval(NEW_YEAR + 1, NEW_YEAR + 2),
        ),
        (
            "timestamp",
            None,
            Literal("2021-01-01T00:00:00Z", "timestamp", 999),
            Interval(NEW_YEAR - 999, NEW_YEAR + 999),
        ),
        (
            "timestamp",
            None,
            Literal("2021-01-01 00:00:00", "timestamp"),
            Interval(NEW_YEAR - 18 * HOUR, NEW_YEAR + 18 * HOUR),
        ),
        (
            "timestamp",
            None,
            Literal("2021-01-01", "date"),
            Interval(NEW_YEAR - 18 * HOUR, NEW_YEAR + 18 * HOUR),
        ),
        (
            "timestamp",
            "date",
            Literal("2021-01-01", "date"),
            Interval(NEW_YEAR - 18 * HOUR, NEW_YEAR + DAY + 18 * HOUR),
        ),
        ("timestamp_ntz", None, Literal("2021-01-01 00:00:00", "timestamp_ntz"), exact(NEW_YEAR)),
        ("timestamp_ntz", None, Literal("2021-01-01", "date"), exact(NEW_YEAR)),
        (
            "timestamp_ntz",
            None,
            Literal("2021-01-01 00:00:00", "timestamp"),
            Interval(NEW_YEAR - 25 * HOUR, NEW_YEAR + 25 * HOUR),
        ),
        (
            "timestamp_ntz",
            None,
            Literal("2021-01-01 00:00:00Z"),
            Interval(NEW_YEAR - 18 * HOUR, NEW_YEAR + 18 * HOUR),
        ),
        (
            "timestamp_ntz",
            "date",
            Literal("2021-01-01", "date"),
            Interval(NEW_YEAR, NEW_YEAR + DAY),
        ),
    ],
)
def test_the_interval_of_a_literal(name, cast, literal, expected) -> None:
    assert interval(column(name), cast, literal) == expected


@pytest.mark.parametrize(
    ("name", "literal", "inside"),
    [
        # As a double, and rounded to single precision on either side.
        ("float", Literal(TENTH), [TENTH, SINGLE_TENTH]),
        ("float", Literal(Decimal("0.1"), "float"), [TENTH, SINGLE_TENTH]),
        ("double", Literal(Decimal("0.1"), "float"), [TENTH, SINGLE_TENTH]),
        ("float", Literal(16777217), [16777216.0, 16777217.0]),
        ("float", Literal(1e300), [1e300, math.inf]),
        ("float", Literal(-1e300), [-1e300, -math.inf]),
        ("float", Literal(1e-46), [0.0, 1e-46]),
        (
            "decimal(38,0)",
            Literal(float(10**30)),
            [Decimal(10**30 - 10**13), Decimal(10**30 + 10**13)],
        ),
        ("decimal(20,10)", Literal("0.3"), [Decimal("0.3"), Decimal("0.3000000001")]),
    ],
)
def test_an_interval_covers_every_rounding(name, literal, inside) -> None:
    found = interval(column(name), None, literal)
    assert all(found.low <= each <= found.high for each in inside)
    assert not found.exact


@pytest.mark.parametrize(
    ("name", "cast", "literal"),
    [
        ("integer", None, Literal(float(2**53))),
        ("long", None, Literal(9007199254740991.5)),
        ("long", None, Literal("9007199254740993")),
        ("integer", None, Literal(Decimal(2**24), "float")),
        ("integer", None, Literal(math.nan)),
        ("integer", None, Literal("NaN", "double")),
        ("integer", None, Literal("x")),
        ("integer", None, Literal("")),
        ("integer", None, Literal(" 5")),
        ("integer", None, Literal("\u0665")),
        ("integer", None, Literal("5\n")),
        ("integer", None, Literal("1" * 200)),
        ("integer", None, Literal(True)),
        ("integer", None, Literal("2021-01-01", "date")),
        ("integer", None, Literal("5", "string")),
        ("integer", None, Literal(300, "byte")),
        ("integer", None, Literal("1.5", "integer")),
        ("integer", None, Literal(Decimal("1e900"))),
        ("integer", None, Literal(Decimal("0." + "1" * 30))),
        ("integer", "byte", Literal(1)),
        ("integer", "string", Literal("1")),
        ("integer", "decimal(10,2)", Literal(1)),
        ("double", "float", Literal(1.5)),
        ("double", "integer", Literal(1)),
        ("double", None, Literal(Decimal("1e309"))),
        ("double", None, Literal("nan")),
        ("decimal(5,2)", "decimal(4,2)", Literal(1)),
        ("decimal(5,2)", "integer", Literal(1)),
        ("decimal(5,2)", None, Literal(math.inf)),
        ("decimal(5,2)", None, Literal(Decimal("1.25"), "decimal(3,1)")),
        ("decimal(38,38)", None, Literal(5)),
        ("decimal(38,38)", None, Literal(1.5)),
        ("string", None, Literal(5)),
        ("string", None, Literal("2021-01-01", "date")),
        ("string", "date", Literal("2021-01-01", "date")),
        ("string", None, Literal("\ud800")),
        ("boolean", None, Literal(1)),
        ("boolean", None, Literal("yes")),
        ("binary", None, Literal(b"x")),
        ("variant", None, Literal("x")),
        ("date", None, Literal(20210101)),
        ("date", None, Literal("2021-1-1")),
        ("date", None, Literal("2021-02-30")),
        ("date", None, Literal("0000-01-01")),
        ("date", None, Literal("2021-01-01Z")),
        ("date", None, Literal("2021-01-01", "string")),
        ("date", "string", Literal("2021-01-01")),
        ("timestamp", None, Literal("2021-01-01 24:00:00")),
        ("timestamp", None, Literal("2021-01-01 00:00:00 Europe/Paris")),
        ("timestamp", None, Literal("2021-01-01 00:00:00+19:00")),
        ("timestamp", None, Literal("2021-01-01 00:00:00+01:60")),
        ("timestamp", None, Literal("2021-01-01 10:00:00", "date")),
        ("timestamp", None, Literal(5)),
        ("timestamp", "timestamp_ntz", Literal("2021-01-01 00:00:00", "timestamp_ntz")),
    ],
)
def test_what_cannot_be_compared(name, cast, literal) -> None:
    with pytest.raises(NotComparable) as caught:
        interval(column(name), cast, literal)
    assert str(caught.value).isascii()


@pytest.mark.parametrize(
    ("name", "cast", "expected"),
    [
        ("long", None, True),
        ("long", "long", True),
        ("short", "integer", True),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(19,0)", False),
        ("long", "boolean", False),
        ("decimal(5,2)", "decimal(6,3)", True),
        ("decimal(5,2)", "decimal(6,2)", True),
        ("decimal(5,2)", "decimal(5,3)", False),
        ("decimal(5,2)", "double", True),
        ("date", "timestamp_ntz", True),
        ("date", "integer", False),
        ("timestamp", "string", False),
        ("string", "string", True),
    ],
)
def test_casts_that_keep_the_order(name, cast, expected) -> None:
    assert keeps_order(column(name), cast) is expected
