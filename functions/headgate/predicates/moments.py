"""Date and timestamp literals beside date and timestamp columns.

Source: Spark SQL, "Datetime Patterns" and "Data Types"; java.time.ZoneOffset for the widest offset
of a time zone.
"""

import datetime
import re
from dataclasses import dataclass

from headgate.predicates.intervals import Interval, NotComparable
from headgate.predicates.tree import Literal

_DAY_US = 86_400_000_000
ZONE_SLACK_US = 18 * 3_600_000_000  # the widest offset from UTC
# Around a change of a zone's offset, two wall-clock times map to instants whose distance is off by
# the change: an hour, or a whole day where a country crossed the date line.
_ZONE_CHANGE_US = 25 * 3_600_000_000
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()

_WALL_CLOCKS = frozenset({"timestamp", "timestamp_ntz"})

_MOMENT_TEXT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?P<time>[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?: ?(Z|UTC|[+-]\d\d:\d\d))?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class _Moment:
    """A parsed date or timestamp: wall-clock microseconds since the epoch, and its own offset."""

    low_us: int
    high_us: int
    offset_us: int | None
    date_only: bool

    @property
    def low_day(self) -> int:
        return self.low_us // _DAY_US

    @property
    def high_day(self) -> int:
        return self.high_us // _DAY_US


def _moment(literal: Literal) -> _Moment:
    declared = literal.type
    if declared is not None and declared != "date" and declared not in _WALL_CLOCKS:
        raise NotComparable("a date or timestamp column is compared with another type")
    text = literal.value
    if isinstance(text, datetime.date):
        text = text.isoformat()
    if not isinstance(text, str):
        raise NotComparable("a date or timestamp column is compared with another type")
    found = _MOMENT_TEXT.fullmatch(text)
    if found is None:
        raise NotComparable("a literal is not an ISO 8601 date or timestamp")
    year, month, day, _, hour, minute, second, fraction, zone = found.groups()
    try:
        ordinal = datetime.date(int(year), int(month), int(day)).toordinal()
        clock = datetime.time(int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError:
        raise NotComparable("a literal is not an ISO 8601 date or timestamp") from None
    seconds = (clock.hour * 60 + clock.minute) * 60 + clock.second
    nanoseconds = int((fraction or "").ljust(9, "0"))
    low_us = (ordinal - _EPOCH_ORDINAL) * _DAY_US + seconds * 1_000_000 + nanoseconds // 1000
    high_us = low_us + (nanoseconds % 1000 > 0)
    return _Moment(
        low_us - literal.slack_us,
        high_us + literal.slack_us,
        _offset_us(zone),
        found["time"] is None,
    )


def _offset_us(zone: str | None) -> int | None:
    if zone is None:
        return None
    if zone in ("Z", "UTC"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    offset_us = (hours * 60 + minutes) * 60_000_000
    if minutes > 59 or offset_us > ZONE_SLACK_US:
        raise NotComparable("a literal is not an ISO 8601 date or timestamp")
    return -offset_us if zone[0] == "-" else offset_us


def beside_date(cast: str | None, literal: Literal) -> Interval:
    """Days. A date becomes midnight in the client's zone where it meets a timestamp."""
    moment = _moment(literal)
    if moment.offset_us is not None:
        # From the literal's own zone to the client's is two days at most, and a time of day is
        # after its midnight.
        return Interval(moment.low_day - 2, moment.high_day + 3)
    if moment.date_only and literal.type in (None, "date") and cast is None:
        return Interval(moment.low_day, moment.high_day, exact=True)
    return Interval(moment.low_day - 1, moment.high_day + 1)


def beside_timestamp(column: str, cast: str | None, literal: Literal) -> Interval:
    """Microseconds: since the epoch for `timestamp`, on the wall clock for `timestamp_ntz`."""
    instants = column == "timestamp"
    if cast == "date":
        days = beside_date(None, literal)
        slack_us = ZONE_SLACK_US if instants else 0
        return Interval(days.low * _DAY_US - slack_us, (days.high + 1) * _DAY_US + slack_us)
    moment = _moment(literal)
    low_us, high_us = moment.low_us, moment.high_us
    if literal.type == "date" and not moment.date_only:
        raise NotComparable("a literal does not fit its type")
    if moment.offset_us is not None:
        low_us, high_us = low_us - moment.offset_us, high_us - moment.offset_us
        if literal.type == "timestamp_ntz":
            slack_us = 2 * ZONE_SLACK_US
        else:
            slack_us = 0 if instants else ZONE_SLACK_US
    elif instants:
        slack_us = ZONE_SLACK_US
    elif literal.type == "timestamp" or cast is not None:
        slack_us = _ZONE_CHANGE_US
    else:
        slack_us = 0
    exact = slack_us == 0 and low_us == high_us
    return Interval(low_us - slack_us, high_us + slack_us, exact)
