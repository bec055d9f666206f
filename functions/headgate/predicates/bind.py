"""Predicates bound to a table: physical columns, literals as intervals, NOT at no node.

NOT is pushed to the leaves under three-valued logic, since the evaluator only knows whether a
group of files *might* match, and the negation of that is not whether it might not.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from headgate.model.schema import DataType, Decimal, Field, Primitive, Struct
from headgate.predicates.bounds import bound_type
from headgate.predicates.coerce import interval, keeps_order, utf8
from headgate.predicates.intervals import Interval, NotComparable
from headgate.predicates.moments import ZONE_SLACK_US
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


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A leaf column by its physical path, and the Arrow type in which its bounds are compared."""

    physical: tuple[str, ...]
    domain: pa.DataType

    @property
    def may_hold_nan(self) -> bool:
        """NaN is above every bound, so for such a column a maximum proves nothing about `>`."""
        return bool(pa.types.is_floating(self.domain))


@dataclass(frozen=True, slots=True)
class BoundCompare:
    """`column op value` for any value of the interval; `op` is never `<=>`."""

    op: Comparison
    column: BoundColumn
    interval: Interval


@dataclass(frozen=True, slots=True)
class BoundIn:
    """The column is in one of the intervals; they are sorted and disjoint."""

    column: BoundColumn
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class BoundPrefix:
    """The column's UTF-8 bytes are in [low, high), or outside of it where `negated`."""

    column: BoundColumn
    low: bytes
    high: bytes
    negated: bool


@dataclass(frozen=True, slots=True)
class BoundNull:
    """The column at this physical path is null, or is not."""

    physical: tuple[str, ...]
    is_null: bool


@dataclass(frozen=True, slots=True)
class BoundAnd:
    children: tuple["BoundPredicate", ...]


@dataclass(frozen=True, slots=True)
class BoundOr:
    children: tuple["BoundPredicate", ...]


@dataclass(frozen=True, slots=True)
class BoundConstant:
    """Whether every row matches, or none."""

    matches: bool


BoundPredicate = (
    BoundCompare | BoundIn | BoundPrefix | BoundNull | BoundAnd | BoundOr | BoundConstant | Unknown
)

_NEGATED = {
    Comparison.EQUAL: Comparison.NOT_EQUAL,
    Comparison.NOT_EQUAL: Comparison.EQUAL,
    Comparison.LESS: Comparison.GREATER_OR_EQUAL,
    Comparison.GREATER_OR_EQUAL: Comparison.LESS,
    Comparison.LESS_OR_EQUAL: Comparison.GREATER,
    Comparison.GREATER: Comparison.LESS_OR_EQUAL,
}
# What Spark's client calls the partition column `x`: `partitionValues.x`.
_PARTITION_VALUES = "partitionvalues"
_CHAR = re.compile(r"(?<!var)char\(", re.IGNORECASE)


def bind(predicate: Predicate, schema: Struct, partition_columns: Sequence[str]) -> BoundPredicate:
    """The predicate over the schema's physical columns; what cannot be bound is Unknown.

    `partition_columns`: logical names, as in the table's metadata. Names resolve exactly first,
    then ignoring case. Never raises for anything that a hint holds.
    """
    return _Binder(schema, frozenset(partition_columns)).bind(predicate, negated=False)


def unused(bound: BoundPredicate) -> list[str]:
    """Why parts of the predicate were not used: distinct reasons, in the predicate's order."""
    return list(dict.fromkeys(_reasons(bound)))


def _reasons(bound: BoundPredicate) -> Iterator[str]:
    if isinstance(bound, Unknown):
        yield bound.reason
    elif isinstance(bound, BoundAnd | BoundOr):
        for child in bound.children:
            yield from _reasons(child)


@dataclass(frozen=True, slots=True)
class _Resolved:
    """The fields from the root to a column. `raw_text`: the hint sees a partition value's text."""

    fields: tuple[Field, ...]
    raw_text: bool

    @property
    def type(self) -> DataType:
        return self.fields[-1].type

    @property
    def physical(self) -> tuple[str, ...]:
        return tuple(field.physical_name for field in self.fields)


@dataclass(frozen=True, slots=True)
class _Binder:
    schema: Struct
    partition_columns: frozenset[str]

    def bind(self, predicate: Predicate, negated: bool) -> BoundPredicate:
        try:
            return self._bind(predicate, negated)
        except NotComparable as error:
            return Unknown(str(error))

    def _bind(self, predicate: Predicate, negated: bool) -> BoundPredicate:
        match predicate:
            case Unknown():
                return predicate
            case Constant(value):
                return BoundConstant(value is not None and value is not negated)
            case Not(child):
                return self.bind(child, not negated)
            case And(children) | Or(children):
                bound = tuple(self.bind(child, negated) for child in children)
                return BoundAnd(bound) if isinstance(predicate, And) != negated else BoundOr(bound)
            case IsNull(column):
                return BoundNull(self._nullable(column), not negated)
            case Compare(op, column, literal):
                return self._compare(op, column, literal, negated)
            case In(column, literals):
                return self._in(column, literals, negated)
            case StartsWith(column, prefix):
                return self._starts_with(column, prefix, negated)

    def _compare(
        self, op: Comparison, column: Column, literal: Literal, negated: bool
    ) -> BoundPredicate:
        if literal.value is None:
            if op is Comparison.NULL_SAFE_EQUAL:
                return BoundNull(self._nullable(column), not negated)
            return BoundConstant(False)
        resolved = self._resolve(column)
        bound = self._leaf(resolved)
        between = self._interval(resolved, column, literal)
        if op is Comparison.NULL_SAFE_EQUAL:
            if not negated:
                return BoundCompare(Comparison.EQUAL, bound, between)
            unequal = BoundCompare(Comparison.NOT_EQUAL, bound, between)
            return BoundOr((unequal, BoundNull(bound.physical, True)))
        if negated:
            # `NOT (x >= 1)` holds for NaN where a client compares as IEEE 754 does, not as Spark.
            if bound.may_hold_nan and op in (Comparison.GREATER, Comparison.GREATER_OR_EQUAL):
                return BoundNull(bound.physical, False)
            op = _NEGATED[op]
        return BoundCompare(op, bound, between)

    def _in(self, column: Column, literals: tuple[Literal, ...], negated: bool) -> BoundPredicate:
        known = [literal for literal in literals if literal.value is not None]
        if negated and len(known) < len(literals):
            return BoundConstant(False)
        if not known:
            return BoundConstant(False)
        resolved = self._resolve(column)
        bound = self._leaf(resolved)
        # Spark compares a list and its column in one type that holds them all.
        kinds = {_kind(literal) for literal in known}
        if len(kinds) > 1 and _is_number(resolved.type):
            common = "float" if "float" in kinds else "double"
            known = [replace(literal, type=common) for literal in known]
        intervals = [self._interval(resolved, column, literal) for literal in known]
        if negated:
            exact = len(kinds) == 1
            return BoundAnd(
                tuple(
                    BoundCompare(
                        Comparison.NOT_EQUAL, bound, replace(each, exact=each.exact and exact)
                    )
                    for each in intervals
                )
            )
        # What has an open end is beyond the column's range, and equals nothing in it.
        closed = [each for each in intervals if each.low is not None and each.high is not None]
        return BoundIn(bound, _disjoint(closed)) if closed else BoundConstant(False)

    def _starts_with(self, column: Column, prefix: str, negated: bool) -> BoundPredicate:
        resolved = self._resolve(column)
        bound = self._leaf(resolved)
        if resolved.type != Primitive("string") or column.cast not in (None, "string"):
            raise NotComparable("LIKE on a column that is not a string")
        low = utf8(prefix)
        if not low:
            return BoundConstant(False) if negated else BoundNull(bound.physical, False)
        # UTF-8 has no byte 0xFF, so the last byte can always be raised.
        return BoundPrefix(bound, low, low[:-1] + bytes([low[-1] + 1]), negated)

    def _interval(self, resolved: "_Resolved", column: Column, literal: Literal) -> Interval:
        own = resolved.type
        if not isinstance(own, Primitive | Decimal):
            raise NotComparable("a comparison on a nested column")
        if resolved.raw_text:
            self._check_raw_text(own, column, literal)
        between = interval(own, column.cast, literal)
        if own.name == "timestamp" and resolved.fields[0].name in self.partition_columns:
            # A partition value without a zone is read in the client's zone.
            return between.apart(ZONE_SLACK_US)
        return replace(between, exact=between.exact and not resolved.raw_text)

    def _check_raw_text(self, own: Primitive | Decimal, column: Column, literal: Literal) -> None:
        """Raises NotComparable where a partition value's text is not compared as its type is."""
        if column.cast is not None:
            if column.cast != own.name:
                raise NotComparable("a partition value that is cast to another type")
            return
        text = isinstance(literal.value, str) and literal.type in (None, "string")
        # For dates alone is the order of the texts that of the values.
        if text and own.name not in ("string", "date"):
            raise NotComparable("a partition value that is compared as text")

    def _leaf(self, resolved: "_Resolved") -> BoundColumn:
        own = resolved.type
        if not isinstance(own, Primitive | Decimal):
            raise NotComparable("a comparison on a nested column")
        if own == Primitive("string") and not _binary_order(resolved.fields):
            raise NotComparable("a string column with a collation or a padded type")
        kept = bound_type(own)
        if kept is None:
            raise NotComparable(f"comparisons on {own.name.split('(')[0]} columns are not used")
        return BoundColumn(resolved.physical, _domain(kept))

    def _nullable(self, column: Column) -> tuple[str, ...]:
        resolved = self._resolve(column)
        if not isinstance(resolved.type, Primitive | Decimal):
            raise NotComparable("IS NULL on a nested column")
        # A cast that fails gives null, where the client does not raise.
        if not keeps_order(resolved.type, column.cast):
            raise NotComparable("IS NULL on a cast")
        return resolved.physical

    def _resolve(self, column: Column) -> _Resolved:
        path = column.path
        fields = _walk(self.schema, path)
        if fields is None and len(path) == 1 and "." in path[0]:
            fields = _walk(self.schema, tuple(path[0].split(".")))
        if fields is not None:
            return _Resolved(fields, raw_text=False)
        if len(path) == 2 and path[0].lower() == _PARTITION_VALUES:
            fields = _walk(self.schema, path[1:])
            if fields is not None and fields[0].name in self.partition_columns:
                return _Resolved(fields, raw_text=True)
        raise NotComparable("a column that the table does not have")


def _walk(schema: Struct, path: tuple[str, ...]) -> tuple[Field, ...] | None:
    fields: list[Field] = []
    here: DataType = schema
    for name in path:
        field = here.field(name) if isinstance(here, Struct) else None
        if field is None:
            return None
        fields.append(field)
        here = field.type
    return tuple(fields)


def _binary_order(fields: tuple[Field, ...]) -> bool:
    """Whether a string column compares by its bytes.

    Source: Delta protocol, "Collations table feature"; Spark's `CharVarcharUtils` for char(n),
    which pads what it is compared with.
    """
    for field in fields:
        if field.metadata.get("__COLLATIONS"):
            return False
        if _CHAR.search(str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", ""))):
            return False
    return True


def _domain(kept: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kept) or pa.types.is_boolean(kept):
        return pa.int64()
    if pa.types.is_floating(kept):
        return pa.float64()
    if pa.types.is_decimal(kept):
        return pa.decimal128(38, kept.scale)
    if pa.types.is_string(kept):
        return pa.binary()
    return kept


def _kind(literal: Literal) -> str:
    """What decides the common type of an IN list: text, floating point of either size, or else."""
    if isinstance(literal.value, str) and literal.type in (None, "string"):
        return "text"
    if literal.type == "float":
        return "float"
    if literal.type == "double" or isinstance(literal.value, float):
        return "double"
    return "other"


def _is_number(data_type: DataType) -> bool:
    return isinstance(data_type, Decimal) or (
        isinstance(data_type, Primitive)
        and data_type.name in ("byte", "short", "integer", "long", "float", "double")
    )


def _disjoint(intervals: list[Interval]) -> tuple[Interval, ...]:
    """The intervals sorted, with those that overlap made one."""
    merged: list[Interval] = []
    for each in sorted(intervals, key=lambda found: found.low):
        if merged and each.low <= merged[-1].high:
            merged[-1] = Interval(merged[-1].low, max(merged[-1].high, each.high))
        else:
            merged.append(each)
    return tuple(merged)
