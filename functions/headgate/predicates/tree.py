"""The predicate tree that both hint languages parse into.

Names are unresolved and literals typed as their hint wrote them; `bind` resolves both against a
table. Any expression outside the tree is `Unknown`: it keeps every file and says why.
"""

import datetime
import decimal
from dataclasses import dataclass
from enum import StrEnum


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
    """A column by its logical path; `cast` is the Delta type name the hint casts it to, if any."""

    path: tuple[str, ...]
    cast: str | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `type` is the Delta type name that the hint gave it, if any (`int`, `date`…)."""

    value: Value
    type: str | None = None


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
