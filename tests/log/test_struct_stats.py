import datetime
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.log.struct_stats import partition_texts, stats_json

UTC = datetime.UTC
LEAVES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "byte": (pa.int8(), st.integers(-128, 127)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "boolean": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(max_size=5)),
    'na"me\n': (pa.string(), st.text(st.sampled_from('",{}:\\\x00\n\u2028é'), max_size=4)),
    "small": (
        pa.decimal128(5, 2),
        st.decimals(-999, 999, allow_nan=False, places=2),
    ),
    "large": (
        pa.decimal128(38, 18),
        st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}e-18")),
    ),
    "date": (pa.date32(), st.dates()),
    "instant": (
        pa.timestamp("us", "UTC"),
        st.datetimes(timezones=st.just(UTC)),
    ),
    "ntz": (pa.timestamp("us"), st.datetimes()),
    "coarse": (pa.timestamp("ms"), st.datetimes().map(lambda t: t.replace(microsecond=5000))),
}
INNER = pa.struct([("a", pa.int64()), ("s", pa.struct([("b", pa.int64())]))])
STATS = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", INNER),
        ("nullCount", INNER),
        ("tightBounds", pa.bool_()),
        ("bytes", pa.binary()),
        ("unknown", pa.int64()),
    ]
)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


NUMBERS = optional(st.integers(0, 3))
INNERS = optional(
    st.fixed_dictionaries({"a": NUMBERS, "s": optional(st.fixed_dictionaries({"b": NUMBERS}))})
)
STRUCTS = optional(
    st.fixed_dictionaries(
        {
            "numRecords": NUMBERS,
            "minValues": INNERS,
            "nullCount": INNERS,
            "tightBounds": optional(st.booleans()),
            "bytes": st.just(b"x"),
            "unknown": st.just(1),
        }
    )
)


def expected(value: Any) -> Any:
    """The JSON value of a statistic, None for one that is left out."""
    if isinstance(value, dict):
        members = {k: e for k, v in value.items() if (e := expected(v)) is not None}
        return members or None
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(value, datetime.datetime):
        zone = "Z" if value.tzinfo else ""
        precision = "microseconds" if value.microsecond % 1000 else "milliseconds"
        return value.replace(tzinfo=None).isoformat(timespec=precision) + zone
    if isinstance(value, datetime.date):
        return value.isoformat()
    return None if isinstance(value, bytes) else value


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        return (
            isinstance(found, Decimal)
            and float(found) == wanted
            and math.copysign(1, float(found)) == math.copysign(1, wanted)
        )
    return type(found) is type(wanted) and bool(found == wanted)


@pytest.mark.parametrize("name", LEAVES)
@settings(deadline=None)
@given(data=st.data())
def test_bounds_keep_their_exact_value(name: str, data: st.DataObject) -> None:
    data_type, strategy = LEAVES[name]
    values = data.draw(st.lists(optional(strategy), min_size=1, max_size=8))
    bounds = pa.array([{name: value} for value in values], pa.struct([(name, data_type)]))
    texts = stats_json(pa.StructArray.from_arrays([bounds], ["minValues"])).to_pylist()
    assert len(texts) == len(values)
    for value, text in zip(values, texts, strict=True):
        if value is None:
            assert text is None
            continue
        found = json.loads(text, parse_float=Decimal)["minValues"][name]
        if isinstance(value, Decimal) and isinstance(found, int):
            found = Decimal(found)
        assert same(found, expected(value)), text


@settings(deadline=None)
@given(st.lists(STRUCTS, min_size=1, max_size=8))
def test_nulls_and_what_is_no_statistic_are_left_out(values: list[Any]) -> None:
    texts = stats_json(pa.array(values, STATS)).to_pylist()
    statistics = [
        {k: v for k, v in (value or {}).items() if k not in ("bytes", "unknown")}
        for value in values
    ]
    assert [text and json.loads(text) for text in texts] == [expected(s) for s in statistics]


def test_the_text_is_what_delta_writes() -> None:
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
    bounds_type = pa.struct(
        [
            ("i", pa.int32()),
            ("d", pa.decimal128(6, 2)),
            ("t", pa.timestamp("us", "UTC")),
            ("n", pa.timestamp("us")),
            ("day", pa.date32()),
            ("s", pa.string()),
        ]
    )
    value = {
        "i": 1,
        "d": Decimal("10.50"),
        "t": moment.replace(tzinfo=UTC),
        "n": moment.replace(microsecond=678901),
        "day": moment.date(),
        "s": 'a"b',
    }
    stats = pa.array(
        [{"numRecords": 3, "minValues": value, "tightBounds": True}],
        pa.struct(
            [("numRecords", pa.int64()), ("minValues", bounds_type), ("tightBounds", pa.bool_())]
        ),
    )
    assert stats_json(stats).to_pylist() == [
        '{"numRecords":3,"minValues":{"i":1,"d":10.50,"t":"2020-01-02T03:04:05.678Z",'
        '"n":"2020-01-02T03:04:05.678901","day":"2020-01-02","s":"a\\"b"},"tightBounds":true}'
    ]


def test_int96_timestamps_are_instants() -> None:
    data_type = pa.struct([("minValues", pa.struct([("t", pa.timestamp("us"))]))])
    stats = pa.array([{"minValues": {"t": datetime.datetime(2020, 1, 1)}}], data_type)
    assert stats_json(stats, frozenset({"minValues.t"})).to_pylist() == [
        '{"minValues":{"t":"2020-01-01T00:00:00.000Z"}}'
    ]


@pytest.mark.parametrize("days", [-800_000, 3_000_000])
def test_moments_outside_four_digit_years_are_left_out(days: int) -> None:
    micros = days * 86_400_000_000
    fields = {
        "date": pa.array([days], pa.int32()).cast(pa.date32()),
        "time": pa.array([micros], pa.timestamp("us", "UTC")),
    }
    minimum = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    stats = pa.StructArray.from_arrays([minimum], ["minValues"])
    assert stats_json(stats).to_pylist() == [None]


def test_a_null_struct_hides_the_values_beneath_it() -> None:
    hidden = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=pa.array([True, False]))
    stats = pa.StructArray.from_arrays([hidden], ["nullCount"])
    assert stats_json(stats).to_pylist() == [None, '{"nullCount":{"a":2}}']


def test_partition_values_as_text() -> None:
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 600000)
    value = {
        "s": "x",
        "i": 7,
        "b": True,
        "d": Decimal("1.50"),
        "f": float("nan"),
        "day": moment.date(),
        "t": moment.replace(tzinfo=UTC),
        "n": moment,
    }
    types = {
        "s": pa.string(),
        "i": pa.int32(),
        "b": pa.bool_(),
        "d": pa.decimal128(3, 2),
        "f": pa.float64(),
        "day": pa.date32(),
        "t": pa.timestamp("us", "UTC"),
        "n": pa.timestamp("us"),
    }
    parsed = pa.array([value, None], pa.struct(list(types.items())))
    texts = partition_texts(parsed, frozenset())
    assert {name: text.to_pylist() for name, text in texts.items()} == {
        "s": ["x", None],
        "i": ["7", None],
        "b": ["true", None],
        "d": ["1.50", None],
        "f": ["NaN", None],
        "day": ["2020-01-02", None],
        "t": ["2020-01-02T03:04:05.600Z", None],
        "n": ["2020-01-02 03:04:05.600", None],
    }
