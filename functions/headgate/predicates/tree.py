"""The predicate tree that both hint languages parse into.

Names are unresolved and literals typed as their hint wrote them; `bind` resolves both against a
table. Any expression outside the tree is `Unknown`: it keeps every file and says why.
"""

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Comparison(StrEnum):
    EQUAL = "="
    NULL_SAFE_EQUAL = "<=>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    NOT_EQUAL = "<>"


Value = (
    None
    | bool
    | int
    | float
    | decimal.Decimal
    | str
    | bytes
    | datetime.date
    | datetime.datetime  # aware: an instant; naive: a wall-clock time in an unknown zone
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its logical path; `cast` is the Delta type name the hint casts it to, if any.

    Type names are Delta's, in lower case: `byte`, `integer`, `decimal(10,2)`, `timestamp_ntz`, …
    """

    path: tuple[str, ...]
    cast: str | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant as the hint wrote it.

    `type` is the Delta type name that the hint gave it, if any (`integer`, `date`, …); a typed
    literal keeps its value raw, for example `Literal("2021-01-01", "date")`. `slack_us`: the value
    that the client meant may be this many microseconds away, either side (timestamps only).
    """

    value: Value
    type: str | None = None
    slack_us: int = 0


@dataclass(frozen=True, slots=True)
class Compare:
    op: Comparison
    column: Column
    literal: Literal


@dataclass(frozen=True, slots=True)
class In:
    column: Column
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """LIKE 'prefix%'."""

    column: Column
    prefix: str


@dataclass(frozen=True, slots=True)
class IsNull:
    column: Column


@dataclass(frozen=True, slots=True)
class Not:
    child: "Predicate"


@dataclass(frozen=True, slots=True)
class And:
    children: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Or:
    children: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE, or NULL as a predicate (NULL matches no row)."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that cannot be evaluated; `reason` is short, public, and holds no data values."""

    reason: str


Predicate = Compare | In | StartsWith | IsNull | Not | And | Or | Constant | Unknown

# `literal op column` says the same as `column FLIPPED[op] literal`.
FLIPPED: Mapping[Comparison, Comparison] = MappingProxyType(
    {
        Comparison.EQUAL: Comparison.EQUAL,
        Comparison.NULL_SAFE_EQUAL: Comparison.NULL_SAFE_EQUAL,
        Comparison.NOT_EQUAL: Comparison.NOT_EQUAL,
        Comparison.LESS: Comparison.GREATER,
        Comparison.LESS_OR_EQUAL: Comparison.GREATER_OR_EQUAL,
        Comparison.GREATER: Comparison.LESS,
        Comparison.GREATER_OR_EQUAL: Comparison.LESS_OR_EQUAL,
    }
)

# Both parsers refuse more than this: hints are untrusted input.
MAX_HINT_CHARACTERS = 64 * 1024
MAX_DEPTH = 100
