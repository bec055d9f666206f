"""Times and durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.catalog.times import duration_ms, instant_ms, instant_text

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01", 0),
        ("1970-01-02", DAY_MS),
        ("1970-01-02T00:00:00Z", DAY_MS),
        ("1970-01-02T02:00:00+02:00", DAY_MS),
        ("1970-01-01T00:00:00.250Z", 250),
        ("1969-12-31T23:59:59Z", -1000),
    ],
)
def test_instants(text: str, ms: int) -> None:
    assert instant_ms(text) == ms


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2027-13-01", "2027-01-01T00:00:00", "20270101T00"]
)
def test_what_is_no_instant_says_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"write 2027|end it with Z"):
        instant_ms(text)


@given(st.integers(0, 4_000_000_000))
def test_whole_seconds_are_read_back(seconds: int) -> None:
    assert instant_ms(instant_text(seconds * 1000)) == seconds * 1000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("15m", 900_000),
        ("12h", DAY_MS // 2),
        ("7d", 7 * DAY_MS),
        ("2W", 14 * DAY_MS),
        ("1y", 365 * DAY_MS),
        ("0d", 0),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "7", "d", "-7d", "7 d", "7s", "1.5h", "9999999d"])
def test_what_is_no_duration_says_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        duration_ms(text)
