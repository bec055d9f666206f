"""Instants and durations as people write them in a catalog and on the command line.

An instant is ISO 8601 with an offset (`2027-01-31T12:00:00Z`), or a date, which is its first
moment in UTC. A duration is a number and a unit: `12h`, `7d`, `2w`, `1y` (365 days).
"""

import re
from datetime import UTC, datetime

_UNITS_MS = {
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
    "y": 365 * 86_400_000,
}
_DURATION = re.compile(r"(\d{1,6})([mhdwy])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def instant_ms(text: str) -> int:
    """Milliseconds since the epoch. Raises ValueError with a message that says what to write."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time: write 2027-01-31T12:00:00Z, or 2027-01-31 for its start"
        ) from None
    if moment.tzinfo is None:
        if _DATE.fullmatch(text) is None:
            raise ValueError(f"{text!r} has no time zone: end it with Z or an offset like +02:00")
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    return round(seconds * 1000)


def instant_text(ms: int) -> str:
    """The instant in UTC to the second, for example `2027-01-31T12:00:00Z`."""
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration_ms(text: str) -> int:
    """Milliseconds of a duration. Raises ValueError with a message that says what to write."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write for example 12h, 7d, 2w or 1y")
    return int(match.group(1)) * _UNITS_MS[match.group(2)]
