import datetime as dt
import math
import random
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pytest

from headgate.model.schema import Decimal as DecimalType
from headgate.model.schema import Field, Primitive, Struct
from headgate.predicates.bind import bind
from headgate.predicates.bounds import ColumnBounds
from headgate.predicates.evaluate import might_match
from headgate.predicates.parse_sql import parse_sql_hints

KINDS = {
    "long": Primitive("long"),
    "double": Primitive("double"),
    "float": Primitive("float"),
    "string": Primitive("string"),
    "boolean": Primitive("boolean"),
    "date": Primitive("date"),
    "at": Primitive("timestamp"),
    "ntz": Primitive("timestamp_ntz"),
    "price": DecimalType(10, 2),
}
SCHEMA = Struct(tuple(Field(name, kind, True, {}) for name, kind in KINDS.items()))


@dataclass
class Files:
    length: int
    columns: dict[tuple[str, ...], ColumnBounds]

    def column(self, physical):
        return self.columns.get(physical)


def files(name, low, high, kind=None, nulls=None, values=None):
    length = len(low)
    return Files(
        length,
        {
            (name,): ColumnBounds(
                pa.array(low, kind),
                pa.array(high, kind),
                pa.array(nulls or [True] * length),
                pa.array(values or [True] * length),
            )
        },
    )


def kept(hint, bounds):
    (predicate,) = parse_sql_hints([hint])
    found = might_match(bind(predicate, SCHEMA, ()), bounds)
    assert isinstance(found, pa.BooleanArray)
    assert found.null_count == 0
    return "".join("+" if each else "-" for each in found.to_pylist())


# Five files: below, ending at, around, starting at and above 10; then the value 10 alone.
AROUND_TEN = ([1, 1, 1, 10, 11, 10], [9, 10, 20, 20, 20, 10])


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("long = 10", "-+++-+"),
        ("long <=> 10", "-+++-+"),
        ("long < 10", "+++---"),
        ("long <= 10", "++++-+"),
        ("long > 10", "--+++-"),
        ("long >= 10", "-+++++"),
        ("long <> 10", "+++++-"),
        ("long <> 10.5", "++++++"),
        ("long <> '10'", "+++++-"),
        ("long <> '010'", "++++++"),
        ("NOT long = 10", "+++++-"),
        ("long IN (10)", "-+++-+"),
        ("long IN (0, 10, 100)", "-+++-+"),
        ("long NOT IN (10, 11)", "+++++-"),
        ("long BETWEEN 10 AND 10", "-+++-+"),
        ("long NOT BETWEEN 10 AND 10", "+++++-"),
        ("long > 10.5", "--+++-"),
        ("long = 10.5", "-+++++"),
        ("long < 9.5", "+++---"),
        ("long < 100000000000000000000", "++++++"),
        ("long > 100000000000000000000", "------"),
        ("long = 100000000000000000000", "------"),
        ("long <> 100000000000000000000", "++++++"),
        ("long > -100000000000000000000", "++++++"),
        ("long = 10 OR long = 1", "++++-+"),
        ("long = 10 AND long = 20", "--++--"),
        ("long = 10 OR unknown = 1", "++++++"),
        ("long = 10 AND unknown = 1", "-+++-+"),
        ("NOT (long = 10 OR unknown = 1)", "+++++-"),
        ("double = 10", "++++++"),
        ("TRUE", "++++++"),
        ("FALSE", "------"),
        ("NULL", "------"),
        ("long = NULL", "------"),
        ("long IS NULL", "++++++"),
    ],
)
@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.int8()])
def test_integers_of_the_type_now_and_before_widening(hint, expected, kind) -> None:
    assert kept(hint, files("long", *AROUND_TEN, kind)) == expected


@pytest.mark.parametrize(
    ("name", "convert", "hints"),
    [
        ("price", lambda each: Decimal(each), ("10", "10.00BD")),
        ("date", lambda each: dt.date(2021, 1, each), ("DATE '2021-01-10'", "'2021-01-10'")),
        ("ntz", lambda each: dt.datetime(2021, 1, each), ("TIMESTAMP_NTZ '2021-01-10 00:00:00'",)),
        (
            "at",
            lambda each: dt.datetime(2021, 1, each, tzinfo=dt.UTC),
            ("TIMESTAMP '2021-01-10 00:00:00Z'", "'2021-01-10 01:00:00+01:00'"),
        ),
        ("string", lambda each: f"{each:02}", ("'10'",)),
    ],
)
def test_every_ordered_type(name, convert, hints) -> None:
    low, high = ([convert(each) for each in ends] for ends in AROUND_TEN)
    held = {"price": pa.decimal128(10, 2), "ntz": pa.timestamp("us")}.get(name)
    bounds = files(name, low, high, held)
    for literal in hints:
        expected = {"=": "-+++-+", "<": "+++---", "<=": "++++-+", ">": "--+++-", ">=": "-+++++"}
        expected["<>"] = "+++++-"
        for op, answer in expected.items():
            assert kept(f"{name} {op} {literal}", bounds) == answer


def test_a_maximum_proves_nothing_about_nan() -> None:
    low, high = [[float(each) for each in ends] for ends in AROUND_TEN]
    for name in ("double", "float"):
        kind = pa.float64() if name == "double" else pa.float32()
        bounds = files(name, low, high, kind)
        expected = {"=": "-+++-+", "<": "+++---", "<=": "++++-+", "<>": "++++++"}
        expected |= {">": "++++++", ">=": "++++++"}
        for op, answer in expected.items():
            assert kept(f"{name} {op} 10.0D", bounds) == answer


def test_zero_has_two_signs() -> None:
    bounds = files("double", [-0.0, 0.0], [-0.0, 0.0])
    for zero in ("0.0D", "-0.0D"):
        assert kept(f"double = {zero}", bounds) == "++"
        assert kept(f"double < {zero}", bounds) == "--"
        assert kept(f"double <= {zero}", bounds) == "++"


def test_nan_bounds_prove_nothing() -> None:
    many = ", ".join(f"{each}.0D" for each in range(40))
    bounds = files("double", [math.nan, 1.0], [2.0, math.nan])
    assert kept("double = 5.0D", bounds) == "-+"
    assert kept("double = 0.5D", bounds) == "+-"
    assert kept("double < 0.0D", bounds) == "+-"
    assert kept(f"double IN ({many})", bounds) == "++"


def test_booleans() -> None:
    bounds = files("boolean", [False, False, True], [False, True, True])
    assert kept("boolean", bounds) == "-++"
    assert kept("NOT boolean", bounds) == "++-"
    assert kept("boolean = FALSE", bounds) == "++-"
    assert kept("boolean IS NOT TRUE", files("boolean", [True], [True], nulls=[False])) == "-"
    assert kept("boolean IS NOT TRUE", bounds) == "+++"


def test_nulls_and_values() -> None:
    bounds = files(
        "long", [1, None, 1], [1, None, 1], pa.int64(), [False, True, True], [True, False, True]
    )
    assert kept("long IS NULL", bounds) == "-++"
    assert kept("long IS NOT NULL", bounds) == "+-+"
    assert kept("long <=> NULL", bounds) == "-++"
    assert kept("long = 1", bounds) == "+-+"
    assert kept("long <> 2", bounds) == "+-+"
    assert kept("NOT long <=> 1", bounds) == "-++"


def test_unknown_bounds_keep() -> None:
    bounds = files("long", [None, None, 5, 5], [5, None, None, 5], pa.int64())
    many = ", ".join(map(str, range(100, 140)))
    assert kept("long = 9", bounds) == "-++-"
    assert kept("long = 1", bounds) == "++--"
    assert kept("long > 5", bounds) == "-++-"
    assert kept("long < 5", bounds) == "++--"
    assert kept("long <> 5", bounds) == "+++-"
    assert kept(f"long IN ({many})", bounds)[1:] == "++-"
    assert kept("long NOT IN (5)", bounds) == "+++-"
    strings = files("string", [None, "b", None], ["a", None, None], pa.string())
    assert kept("string LIKE 'aa%'", strings) == "--+"
    assert kept("string NOT LIKE 'a%'", strings) == "+++"


def test_prefixes() -> None:
    bounds = files(
        "string",
        ["a", "ab", "ab", "abz", "ac", "aa"],
        ["aa", "abc", "ab", "b", "ad", "ab"],
    )
    assert kept("string LIKE 'ab%'", bounds) == "-+++-+"
    assert kept("string NOT LIKE 'ab%'", bounds) == "+--+++"
    edge = files("string", ["\uffff", "\U0001f600"], ["\uffffz", "\U0010ffff"])
    assert kept("string LIKE '\uffff%'", edge) == "+-"
    assert kept("string < '\U0001f600'", edge) == "+-"  # by code points, not UTF-16 units


def test_bounds_of_types_before_widening() -> None:
    doubles = files("double", [1, 10], [9, 20], pa.int32())
    assert kept("double <= 9.5D", doubles) == "+-"
    singles = files("double", [1.5], [2.5], pa.float32())
    assert kept("double < 1.5D", singles) == "-"
    days = files("ntz", [dt.date(2021, 1, 1)], [dt.date(2021, 1, 2)])
    assert kept("ntz < TIMESTAMP_NTZ '2021-01-01 00:00:00'", days) == "-"
    assert kept("ntz <= TIMESTAMP_NTZ '2021-01-01 00:00:00'", days) == "+"
    prices = files("price", [1], [2], pa.int32())
    assert kept("price > 2.00", prices) == "-"
    narrow = files("price", [Decimal("1.5")], [Decimal("2.5")], pa.decimal128(4, 1))
    assert kept("price > 2.49", narrow) == "+"
    assert kept("price > 2.50", narrow) == "-"


def test_bounds_that_do_not_fit_the_type_keep() -> None:
    assert kept("long = 5", files("long", ["x"], ["y"])) == "+"
    far = files("ntz", [2**31 - 1], [2**31 - 1], pa.int32())
    far.columns[("ntz",)] = ColumnBounds(
        *[pa.array([2**31 - 1], pa.int32()).cast(pa.date32())] * 2,
        pa.array([True]),
        pa.array([True]),
    )
    assert kept("ntz < TIMESTAMP_NTZ '2021-01-01 00:00:00'", far) == "+"


@pytest.mark.parametrize("count", [1, 12, 13, 100, 257])
@pytest.mark.parametrize("name", ["long", "string", "price", "double", "date"])
def test_long_lists_agree_with_a_plain_search(count, name) -> None:
    randomly = random.Random(count)
    numbers = [randomly.randrange(3000) for _ in range(count)]
    lows = [randomly.randrange(3000) for _ in range(500)]
    highs = [low + randomly.randrange(30) for low in lows]
    spell, held, kind = {
        "long": (str, int, pa.int64()),
        "string": (lambda n: f"'{n:05}'", lambda n: f"{n:05}", pa.string()),
        "price": (str, Decimal, pa.decimal128(10, 2)),
        "double": (lambda n: f"{n}.0D", float, pa.float64()),
        "date": (lambda n: f"DATE '{day(n)}'", day, pa.date32()),
    }[name]
    bounds = files(name, [held(each) for each in lows], [held(each) for each in highs], kind)
    expected = "".join(
        "+" if any(low <= number <= high for number in numbers) else "-"
        for low, high in zip(lows, highs, strict=True)
    )
    assert "-" in expected
    assert kept(f"{name} IN ({', '.join(map(spell, numbers))})", bounds) == expected


def day(number: int) -> dt.date:
    return dt.date(2000, 1, 1) + dt.timedelta(days=number)


def test_no_files() -> None:
    none = files("long", [], [], pa.int64(), nulls=[], values=[])
    none.columns[("long",)] = ColumnBounds(
        pa.array([], pa.int64()),
        pa.array([], pa.int64()),
        pa.array([], pa.bool_()),
        pa.array([], pa.bool_()),
    )
    many = ", ".join(map(str, range(50)))
    for hint in ("long = 1", f"long IN ({many})", "TRUE", "unknown = 1", "long IS NULL"):
        assert kept(hint, none) == ""
