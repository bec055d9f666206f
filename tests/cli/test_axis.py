"""Where the picture's value axis puts values, and which it writes."""

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.cli.axis import Axis, value_axis
from headgate.predicates.bind import BoundColumn
from headgate.query.extents import Extent

DAY_US = 86_400_000_000
MOMENTS = pa.timestamp("us", "UTC")


def axis(domain: pa.DataType, *ends: tuple[Any, Any], wanted: tuple[Any, ...] = ()) -> Axis:
    extents = [Extent(low, high) for low, high in ends]
    return value_axis(
        BoundColumn(("c",), domain), extents, [Extent(end, None) for end in wanted], repr
    )


@pytest.mark.parametrize(
    ("domain", "ends", "ticks"),
    [
        (pa.int64(), (0, 5649), [0, 2000, 4000]),
        (pa.int64(), (3, 3), [2, 3, 4]),
        (pa.float64(), (0.0, 1.0), [0.0, 0.5, 1.0]),
        (pa.date32(), (19723, 20088), [19723, 19814, 19905, 19997, 20089]),  # quarters of 2024
        (pa.date32(), (19723, 19730), [19724, 19726, 19728, 19730]),
        (MOMENTS, (0, DAY_US // 4), [0, DAY_US // 8, DAY_US // 4]),
        (MOMENTS, (0, 100), [0, 50, 100]),
        (pa.binary(), (b"a", b"c"), [b"a", b"c"]),
    ],
)
def test_ticks_are_round(domain: pa.DataType, ends: tuple[Any, Any], ticks: list[Any]) -> None:
    assert [text for _, text in axis(domain, ends).ticks] == [repr(tick) for tick in ticks]


NUMBERS = st.integers(-(2**63), 2**63 - 1)
DOMAINS = st.sampled_from(
    [
        (pa.int64(), NUMBERS),
        (pa.float64(), st.floats(allow_nan=False)),
        (pa.date32(), st.integers(-(2**31), 2**31 - 1)),
        (MOMENTS, NUMBERS),
        (pa.decimal128(38, 2), st.decimals(-(10**36), 10**36, places=2)),
        (pa.binary(), st.binary(max_size=5)),
    ]
)


@given(DOMAINS, st.data())
def test_values_keep_their_order_on_the_axis(drawn: Any, data: st.DataObject) -> None:
    domain, values = drawn
    ends = data.draw(st.lists(values, max_size=8))
    wanted = data.draw(st.lists(values, max_size=3))
    made = axis(domain, *((end, None) for end in ends), wanted=tuple(wanted))
    finite = [v for v in (*ends, *wanted) if not isinstance(v, float) or math.isfinite(v)]
    places = [made.place(value) for value in sorted(finite)]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in (*places, *(place for place, _ in made.ticks)))
    assert len(made.ticks) <= 12


def test_a_far_literal_does_not_flatten_the_values() -> None:
    near = axis(pa.int64(), (0, 100), wanted=(130,))
    assert near.place(100) < near.place(130) < 1
    far = axis(pa.int64(), (0, 100), wanted=(10_000,))
    assert far.place(100) > 0.9
    assert far.place(10_000) == 1
