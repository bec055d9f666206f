"""Predicates as text for people: as a hint was understood, and as it is evaluated.

For `headgate explain`, never for answers: literals are data.
"""

import datetime
import decimal
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headgate.model.schema import Leaf, Primitive, Struct, leaves
from headgate.predicates.bind import (
    BoundAnd,
    BoundColumn,
    BoundCompare,
    BoundConstant,
    BoundIn,
    BoundNull,
    BoundOr,
    BoundPredicate,
    BoundPrefix,
)
from headgate.predicates.intervals import Interval
from headgate.predicates.tree import (
    And,
    Column,
    Compare,
    Comparison,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)

_SHOWN_VALUES = 6
_SHOWN_CHARACTERS = 60
_EPOCH = datetime.datetime(1970, 1, 1)
_SIGNS = {
    Comparison.LESS_OR_EQUAL: "≤",
    Comparison.GREATER_OR_EQUAL: "≥",
    Comparison.NOT_EQUAL: "≠",
}


def predicate_text(predicate: Predicate) -> str:
    """A predicate as it was parsed, close to SQL. What was not understood is in brackets."""
    match predicate:
        case And(children):
            return " AND ".join(_parsed_operand(child) for child in children)
        case Or(children):
            return " OR ".join(_parsed_operand(child) for child in children)
        case Not(child):
            return f"NOT {_parsed_operand(child)}"
        case Compare(op, column, literal):
            return f"{_column(column)} {op} {_literal(literal)}"
        case In(column, literals):
            return f"{_column(column)} IN ({_some([_literal(each) for each in literals])})"
        case StartsWith(column, prefix):
            return f"{_column(column)} LIKE {_quoted(prefix + '%')}"
        case IsNull(column):
            return f"{_column(column)} IS NULL"
        case Constant(value):
            return "NULL" if value is None else str(value).upper()
        case Unknown(reason):
            return f"[not understood: {reason}]"


def _parsed_operand(predicate: Predicate) -> str:
    text = predicate_text(predicate)
    return f"({text})" if isinstance(predicate, And | Or | Not) else text


def _column(column: Column) -> str:
    name = ".".join(column.path)
    return name if column.cast is None else f"CAST({name} AS {column.cast})"


def _literal(literal: Literal) -> str:
    value = literal.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        text = str(value).upper()
    elif isinstance(value, int | float | decimal.Decimal):
        text = str(value)
    elif isinstance(value, bytes):
        text = f"X'{value.hex()}'"
    else:
        text = _quoted(str(value))
    return text if literal.type in (None, "string") else f"{literal.type} {text}"


@dataclass(frozen=True)
class BoundWording:
    """Text of predicates that are bound to `schema`: what is really compared with files' bounds.

    Literals show the end of their interval that decides. Parts that can rule nothing out are in
    brackets, with the reason.
    """

    schema: Struct
    _leaves: dict[tuple[str, ...], Leaf] = field(init=False)

    def __post_init__(self) -> None:
        found = {leaf.physical: leaf for leaf in leaves(self.schema)}
        object.__setattr__(self, "_leaves", found)

    def text(self, bound: BoundPredicate) -> str:
        match bound:
            case BoundAnd(children):
                return " and ".join(self._operand(child) for child in children)
            case BoundOr(children):
                return " or ".join(self._operand(child) for child in children)
            case BoundConstant(matches):
                return "every row" if matches else "no row"
            case BoundNull(physical, is_null):
                return f"{self.name(physical)} is {'null' if is_null else 'not null'}"
            case BoundPrefix(column, low, _, negated):
                verb = "does not start" if negated else "starts"
                return f"{self.name(column.physical)} {verb} with {self.value(low, column)}"
            case BoundIn(column, intervals):
                values = _some([self._interval(each, column) for each in intervals])
                return f"{self.name(column.physical)} is one of {values}"
            case BoundCompare():
                return self._compare(bound)
            case Unknown(reason):
                return f"[not used: {reason}]"

    def name(self, physical: tuple[str, ...]) -> str:
        """A column's logical name, dotted."""
        leaf = self._leaves.get(physical)
        return ".".join(physical if leaf is None else leaf.logical)

    def value(self, value: Any, column: BoundColumn) -> str:
        """A value of an interval (`predicates.intervals.Interval` gives the units)."""
        leaf = self._leaves.get(column.physical)
        if leaf is not None and leaf.type == Primitive("boolean"):
            return "true" if value else "false"
        if isinstance(value, bytes):
            return _quoted(value.decode("utf-8", "backslashreplace"))
        try:
            if pa.types.is_date32(column.domain):
                return (_EPOCH + datetime.timedelta(days=value)).date().isoformat()
            if pa.types.is_timestamp(column.domain):
                moment = _EPOCH + datetime.timedelta(microseconds=value)
                return moment.isoformat(sep=" ") + ("" if column.domain.tz is None else "Z")
        except OverflowError:  # Python's years end with 9999
            return f"{value} {'days' if pa.types.is_date32(column.domain) else 'µs'} after 1970"
        return f"{value:g}" if isinstance(value, float) else str(value)

    def _operand(self, bound: BoundPredicate) -> str:
        text = self.text(bound)
        several = isinstance(bound, BoundAnd | BoundOr) and len(bound.children) > 1
        return f"({text})" if several else text

    def _interval(self, interval: Interval, column: BoundColumn) -> str:
        if interval.low == interval.high:
            return self.value(interval.low, column)
        return f"{self.value(interval.low, column)} … {self.value(interval.high, column)}"

    def _compare(self, bound: BoundCompare) -> str:
        name = self.name(bound.column.physical)
        low, high = bound.interval.low, bound.interval.high
        rising = bound.op in (Comparison.GREATER, Comparison.GREATER_OR_EQUAL)
        falling = bound.op in (Comparison.LESS, Comparison.LESS_OR_EQUAL)
        if bound.op is Comparison.EQUAL and low is not None and high is not None:
            apart = low != high
            return (
                f"{name} {'is in' if apart else '='} {self._interval(bound.interval, bound.column)}"
            )
        if bound.op is Comparison.EQUAL:
            rising, falling = low is not None, high is not None
        sign = _SIGNS.get(bound.op, str(bound.op))
        if bound.op is Comparison.EQUAL:
            sign = "≥" if rising else "≤"
        end = high if falling else low
        if end is None:
            return f"{name} is not null [the literal is beyond the column's type]"
        text = f"{name} {sign} {self.value(end, bound.column)}"
        if bound.column.may_hold_nan and not falling and bound.op is not Comparison.EQUAL:
            return f"{text} [rules out only nulls: NaN may lie above every bound]"
        if bound.op is Comparison.NOT_EQUAL and not bound.interval.exact:
            return f"{text} [rules out only nulls: clients differ on what equals the literal]"
        return text


def _some(values: list[str]) -> str:
    if len(values) <= _SHOWN_VALUES:
        return ", ".join(values)
    return f"{', '.join(values[:_SHOWN_VALUES])}, … {len(values):,} in all"


def _quoted(text: str) -> str:
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    printable = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown)
    return f"'{printable}'"
