"""An interval of a column's values: what a literal is bound to."""

from dataclasses import dataclass
from typing import Any


class NotComparable(Exception):
    """The comparison cannot be used; the message is a short public reason without data values."""


@dataclass(frozen=True, slots=True)
class Interval:
    """`low` ≤ `high`, in the unit of the column's bounds; None is unbounded.

    Integers and booleans: int. Dates: days since the epoch. Timestamps: microseconds since the
    epoch. Floating point: float. Decimals: Decimal at the column's scale. Strings: UTF-8 bytes.
    `exact`: the literal is this one value for every client, so that a column that holds nothing
    else never compares unequal to it.
    """

    low: Any
    high: Any
    exact: bool = False

    def apart(self, slack: int) -> "Interval":
        """Wider by `slack` at both ends."""
        return Interval(self.low - slack, self.high + slack)
