"""`predicateHints` (SQL boolean expressions) into predicates.

Source: Delta Sharing protocol, "SQL Expressions for Filtering"; the grammar is Spark SQL's, since
Spark's client sends its own expressions as text.

sqlglot reads more than Spark does, and marks variants by extra arguments on a node (`NOT LIKE` is
a `Like` with `negate`), so a node is understood only where every argument it carries is known.
"""

import decimal
import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from headgate.predicates.tree import (
    FLIPPED,
    MAX_DEPTH,
    MAX_HINT_CHARACTERS,
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
    Value,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_UNSUPPORTED = Unknown("an SQL expression that is not supported")

# By the names of sqlglot's classes and types: the module itself loads only with the first hint.
_COMPARISONS: Mapping[str, Comparison] = MappingProxyType(
    {
        "EQ": Comparison.EQUAL,
        "NEQ": Comparison.NOT_EQUAL,
        "NullSafeEQ": Comparison.NULL_SAFE_EQUAL,
        "LT": Comparison.LESS,
        "LTE": Comparison.LESS_OR_EQUAL,
        "GT": Comparison.GREATER,
        "GTE": Comparison.GREATER_OR_EQUAL,
    }
)
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "TINYINT": "byte",
        "SMALLINT": "short",
        "INT": "integer",
        "BIGINT": "long",
        "FLOAT": "float",
        "DOUBLE": "double",
        "TEXT": "string",
        "BOOLEAN": "boolean",
        "BINARY": "binary",
        "DATE": "date",
        "TIMESTAMP": "timestamp",
        "TIMESTAMPTZ": "timestamp",
        "TIMESTAMPLTZ": "timestamp",
        "TIMESTAMPNTZ": "timestamp_ntz",
    }
)
_DEFAULT_DECIMAL = (10, 0)  # Spark SQL, "Data Types"

_INTEGER = re.compile(r"[0-9]{1,100}")
_FRACTION = re.compile(r"[0-9]{0,100}\.[0-9]{0,100}")
_EXPONENT = re.compile(r"[0-9]{0,100}\.?[0-9]{0,100}[eE][+-]?[0-9]{1,9}")
# A length that sqlglot drops from the type, while some engines pad or cut by it.
_SIZED_TEXT = re.compile(r"char(acter)?(\s+varying)?\s*\(", re.IGNORECASE)
_PLAIN_ESCAPES = frozenset("\\'\"nrt")


def parse_sql_hints(hints: Sequence[str]) -> list[Predicate]:
    """One predicate per hint, in order; the caller joins them with AND. Never raises.

    What is outside the supported grammar becomes Unknown, for the smallest sub-expression that
    holds it; a hint that does not parse, is too deep, or comes after MAX_HINT_CHARACTERS of hints
    is Unknown as a whole.
    """
    predicates: list[Predicate] = []
    budget = MAX_HINT_CHARACTERS
    for hint in hints:
        budget -= len(hint)
        if budget < 0:
            predicates.append(Unknown("the SQL predicates are too long"))
        else:
            predicates.append(_parse(hint))
    return predicates


def _parse(hint: str) -> Predicate:
    reason = _refusal(hint)
    if reason is not None:
        return Unknown(reason)
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(hint, dialect="spark", into=exp.Condition)
        return _predicate(tree, 0)
    except (SqlglotError, ValueError):
        return Unknown("an SQL predicate that does not parse")
    except RecursionError:
        return Unknown("an SQL predicate that is too deep")


def _refusal(hint: str) -> str | None:
    """Why a hint means different things to different engines, from its characters alone."""
    quote = None
    depth = 0
    position = 0
    while position < len(hint):
        character = hint[position]
        if quote is not None:
            if character == "\\" and quote == "'":
                position += 1
                if hint[position : position + 1] not in _PLAIN_ESCAPES:
                    return "a string escape in an SQL predicate"
            elif character == quote:
                quote = None
        elif character in "'`":
            quote = character
        elif character == '"':
            return "double quotes in an SQL predicate: a string to some, a name to others"
        elif hint.startswith(("--", "/*"), position):
            return "a comment in an SQL predicate"
        elif character in "([{":
            depth += 1
            if depth > MAX_DEPTH:
                return "an SQL predicate that is too deep"
        elif character in ")]}":
            depth -= 1
        position += 1
    if _SIZED_TEXT.search(hint):
        return "a char or varchar type in an SQL predicate"
    return None


def _only(node: "Expr", *known: str) -> bool:
    """Whether the node carries no argument but the known ones."""
    return all(key in known for key, value in node.args.items() if value)


def _predicate(node: "Expr", depth: int) -> Predicate:
    if depth > MAX_DEPTH:
        return Unknown("an SQL predicate that is too deep")
    kind = type(node).__name__
    if kind in ("And", "Or"):
        return _junction(node, kind, depth)
    if kind == "Paren" and _only(node, "this"):
        return _predicate(node.this, depth + 1)
    if kind == "Not" and _only(node, "this"):
        return Not(_predicate(node.this, depth + 1))
    if kind in _COMPARISONS and _only(node, "this", "expression"):
        return _comparison(_COMPARISONS[kind], node.this, node.expression)
    if kind == "Is" and _only(node, "this", "expression"):
        return _is(node)
    if kind == "In" and _only(node, "this", "expressions"):
        return _in(node)
    if kind == "Between" and _only(node, "this", "low", "high"):
        low = _comparison(Comparison.GREATER_OR_EQUAL, node.this, node.args["low"])
        high = _comparison(Comparison.LESS_OR_EQUAL, node.this, node.args["high"])
        return And((low, high))
    if kind == "Like" and _only(node, "this", "expression", "negate"):
        matched = _like(node)
        return Not(matched) if node.args.get("negate") else matched
    if kind == "StartsWith" and _only(node, "this", "expression"):
        return _starts_with(node)
    if kind == "Boolean":
        return Constant(bool(node.this))
    if kind == "Null":
        return Constant(None)
    column = _column(node)
    if column is not None:
        return Compare(Comparison.EQUAL, column, Literal(True, "boolean"))
    return _UNSUPPORTED


def _junction(node: "Expr", kind: str, depth: int) -> Predicate:
    """A chain of one operator is a left-deep tree, thousands deep where it is long."""
    operands: list[Predicate] = []
    pending: list[Expr] = [node]
    while pending:
        current = pending.pop()
        if type(current).__name__ != kind:
            operands.append(_predicate(current, depth + 1))
        elif _only(current, "this", "expression"):
            pending.append(current.expression)
            pending.append(current.this)
        else:
            operands.append(_UNSUPPORTED)
    return And(tuple(operands)) if kind == "And" else Or(tuple(operands))


def _comparison(op: Comparison, left: "Expr", right: "Expr") -> Predicate:
    first, second = _operand(left), _operand(right)
    if isinstance(first, Column) and isinstance(second, Literal):
        return Compare(op, first, second)
    if isinstance(first, Literal) and isinstance(second, Column):
        return Compare(FLIPPED[op], second, first)
    if isinstance(first, Literal) and isinstance(second, Literal) and op is Comparison.EQUAL:
        # `1 = 1` and `1 = 0`: what generators of SQL write for true and false.
        untyped = first.type is None and second.type is None
        if untyped and type(first.value) is int and type(second.value) is int:
            return Constant(first.value == second.value)
    return _UNSUPPORTED


def _is(node: "Expr") -> Predicate:
    column = _column(node.this)
    if column is None:
        return _UNSUPPORTED
    right = type(node.expression).__name__
    if right == "Null":
        return IsNull(column)
    if right == "Boolean":
        literal = Literal(bool(node.expression.this), "boolean")
        return Compare(Comparison.NULL_SAFE_EQUAL, column, literal)
    return _UNSUPPORTED


def _in(node: "Expr") -> Predicate:
    column = _column(node.this)
    literals = tuple(
        literal for item in node.expressions if (literal := _literal(item)) is not None
    )
    if column is None or not literals or len(literals) != len(node.expressions):
        return _UNSUPPORTED
    return In(column, literals)


def _like(node: "Expr") -> Predicate:
    column, pattern = _column(node.this), _text(node.expression)
    if column is None or pattern is None:
        return _UNSUPPORTED
    prefix = pattern.removesuffix("%")
    if "\\" in prefix or "_" in prefix or "%" in prefix:
        return Unknown("an SQL LIKE pattern other than 'prefix%'")
    if prefix == pattern:
        return Compare(Comparison.EQUAL, column, Literal(pattern, "string"))
    return StartsWith(column, prefix)


def _starts_with(node: "Expr") -> Predicate:
    column, prefix = _column(node.this), _text(node.expression)
    if column is None or prefix is None:
        return _UNSUPPORTED
    return StartsWith(column, prefix)


def _text(node: "Expr") -> str | None:
    literal = _literal(node)
    if literal is None or literal.type is not None or not isinstance(literal.value, str):
        return None
    return literal.value


def _operand(node: "Expr") -> Column | Literal | None:
    column = _column(node)
    return column if column is not None else _literal(node)


def _column(node: "Expr") -> Column | None:
    node = _unwrapped(node)
    cast = None
    if type(node).__name__ in ("Cast", "TryCast") and _only(node, "this", "to", "safe"):
        cast = _type_name(node.args["to"])
        if cast is None:
            return None
        node = _unwrapped(node.this)
    path: list[str] = []
    while type(node).__name__ == "Dot" and _only(node, "this", "expression"):
        if type(node.expression).__name__ != "Identifier":
            return None
        path.append(str(node.expression.this))
        node = node.this
    if type(node).__name__ != "Column" or not _only(node, "this", "table", "db", "catalog"):
        return None
    for part in (node.args.get(key) for key in ("this", "table", "db", "catalog")):
        if part is not None:
            if type(part).__name__ != "Identifier":
                return None
            path.append(str(part.this))
    return Column(tuple(reversed(path)), cast)


def _literal(node: "Expr") -> Literal | None:
    """The constant, with the type of its suffix, keyword or CAST; None where it is not one."""
    node = _unwrapped(node)
    type_name = None
    negative = False
    if type(node).__name__ == "Neg" and _only(node, "this"):
        negative = True
        node = _unwrapped(node.this)
    if type(node).__name__ in ("Cast", "TryCast") and _only(node, "this", "to", "safe"):
        type_name = _type_name(node.args["to"])
        if type_name is None:
            return None
        node = _unwrapped(node.this)
        if type(node).__name__ == "Neg" and _only(node, "this") and not negative:
            negative = True
            node = _unwrapped(node.this)
    kind = type(node).__name__
    if kind == "Null" and not negative:
        return Literal(None, type_name)
    if kind == "Boolean" and not negative:
        return Literal(bool(node.this), type_name)
    if kind == "HexString" and not negative:
        digits = str(node.this)
        return Literal(bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")), type_name)
    if kind != "Literal" or not _only(node, "this", "is_string"):
        return None
    text = str(node.this)
    value: Value = text
    if not node.args.get("is_string"):
        value = _number(text)
    elif type_name is not None and type_name.startswith("decimal"):
        # `1.5BD` arrives as CAST('1.5' AS DECIMAL(2, 1)).
        value = _exact_number(text)
    if value is None:
        return None
    if negative:
        if not isinstance(value, int | float | decimal.Decimal):
            return None
        # Unary minus on a Decimal would round it to the context's 28 digits.
        value = value.copy_negate() if isinstance(value, decimal.Decimal) else -value
    return Literal(value, type_name)


def _number(text: str) -> int | float | decimal.Decimal | None:
    """An integer, a decimal where there is a point, a double where there is an exponent."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if not any(character.isdigit() for character in text):
        return None
    if _FRACTION.fullmatch(text):
        return decimal.Decimal(text)
    if _EXPONENT.fullmatch(text):
        value = float(text)
        return None if math.isinf(value) else value
    return None


def _exact_number(text: str) -> decimal.Decimal | None:
    digits = text.removeprefix("-")
    if not any(pattern.fullmatch(digits) for pattern in (_INTEGER, _FRACTION, _EXPONENT)):
        return None
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None


def _unwrapped(node: "Expr") -> "Expr":
    while type(node).__name__ == "Paren" and _only(node, "this"):
        node = node.this
    return node


def _type_name(node: "Expr") -> str | None:
    """The Delta name of an SQL type that a cast names; None where there is none."""
    kind = getattr(node.this, "name", None)
    if kind == "DECIMAL":
        parameters = [str(parameter.this) for parameter in node.expressions]
        if len(parameters) > 2 or not all(_INTEGER.fullmatch(text) for text in parameters):
            return None
        numbers = [int(text) for text in parameters]
        precision, scale = (*numbers, *_DEFAULT_DECIMAL[len(numbers) :])
        return f"decimal({precision},{scale})"
    if node.expressions or not isinstance(kind, str):
        return None
    return _TYPES.get(kind)
