"""`jsonPredicateHints` into a `Predicate`.

Source: Delta Sharing protocol, "JSON predicates for Filtering"; the reference client's
`OpConverter` and `JsonPredicates` for what is sent in practice.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import orjson

from headgate.predicates.tree import (
    FLIPPED,
    MAX_DEPTH,
    MAX_HINT_CHARACTERS,
    And,
    Column,
    Compare,
    Comparison,
    Constant,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    Unknown,
)

_COMPARISONS: Mapping[str, Comparison] = MappingProxyType(
    {
        "equal": Comparison.EQUAL,
        "lessThan": Comparison.LESS,
        "lessThanOrEqual": Comparison.LESS_OR_EQUAL,
        "greaterThan": Comparison.GREATER,
        "greaterThanOrEqual": Comparison.GREATER_OR_EQUAL,
    }
)

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "bool": "boolean",
        "int": "integer",
        "long": "long",
        "string": "string",
        "date": "date",
        "float": "float",
        "double": "double",
        "timestamp": "timestamp",
    }
)
_INTEGERS = frozenset({"integer", "long"})

# The Spark client cuts timestamp literals to milliseconds, towards the epoch, before it sends
# them: three fractional digits or fewer stand for any microsecond around.
_CUT_TIMESTAMP_SLACK_US = 999
_MICROSECONDS = re.compile(r"\.\d{4,}")


def parse_json_hint(text: str) -> Predicate:
    """The predicate that the JSON text means; never raises.

    What is outside the protocol (another op, arity or value type, too long, too deep) becomes
    Unknown, for the smallest part of the tree that holds it.
    """
    if len(text) > MAX_HINT_CHARACTERS:
        return Unknown("the JSON predicate is too long")
    try:
        return _predicate(orjson.loads(text), 0)
    except (orjson.JSONDecodeError, RecursionError):
        return Unknown("the JSON predicate is not valid JSON")


def _predicate(node: Any, depth: int) -> Predicate:
    if depth > MAX_DEPTH:
        return Unknown("the JSON predicate is too deep")
    if not isinstance(node, dict):
        return Unknown("a JSON predicate is not an object")
    op = node.get("op")
    if op in ("and", "or"):
        return _junction(node, op, depth)
    if op in ("column", "literal"):
        return _boolean_leaf(node)
    children = node.get("children")
    if not isinstance(children, list):
        children = []
    if op == "not":
        if len(children) != 1:
            return Unknown("the JSON op not takes one child")
        return Not(_predicate(children[0], depth + 1))
    if op == "isNull":
        if len(children) != 1:
            return Unknown("the JSON op isNull takes one child")
        return _is_null(children[0])
    if isinstance(op, str) and op in _COMPARISONS:
        if len(children) != 2:
            return Unknown(f"the JSON op {op} takes two children")
        return _comparison(node, _COMPARISONS[op], children[0], children[1])
    return Unknown("an unknown op in the JSON predicate")


def _junction(node: dict[str, Any], op: str, depth: int) -> Predicate:
    """Clients chain `a or b or c` as nested pairs: nests of one op become one flat node."""
    operands: list[Predicate] = []
    pending: list[Any] = [node]
    while pending:
        current = pending.pop()
        if not (isinstance(current, dict) and current.get("op") == op):
            operands.append(_predicate(current, depth + 1))
            continue
        children = current.get("children")
        if isinstance(children, list) and len(children) >= 2:
            pending.extend(reversed(children))
        else:
            operands.append(Unknown(f"the JSON op {op} takes two children or more"))
    if len(operands) == 1:
        return operands[0]
    return And(tuple(operands)) if op == "and" else Or(tuple(operands))


def _boolean_leaf(node: dict[str, Any]) -> Predicate:
    leaf = _leaf(node)
    if isinstance(leaf, Unknown):
        return leaf
    if isinstance(leaf, Column):
        if leaf.cast != "boolean":
            return Unknown("a JSON predicate is a column that is not boolean")
        return Compare(Comparison.EQUAL, leaf, Literal(True, "boolean"))
    if leaf.type == "boolean" and str(leaf.value).lower() in ("true", "false"):
        return Constant(str(leaf.value).lower() == "true")
    return Unknown("a JSON predicate is a literal that is not boolean")


def _is_null(node: Any) -> Predicate:
    leaf = _leaf(node)
    if isinstance(leaf, Unknown):
        return leaf
    if isinstance(leaf, Column):
        return IsNull(leaf)
    # The Spark client sends the null literal as the text "null", in its expansion of `<=>` too.
    if leaf.value is None or leaf.value == "null":
        return Unknown("isNull of a literal that may be null")
    return Constant(False)


def _comparison(node: dict[str, Any], op: Comparison, left: Any, right: Any) -> Predicate:
    first, second = _leaf(left), _leaf(right)
    if isinstance(first, Unknown):
        return first
    if isinstance(second, Unknown):
        return second
    if isinstance(first, Column) and isinstance(second, Literal):
        column, literal = first, second
    elif isinstance(first, Literal) and isinstance(second, Column):
        column, literal, op = second, first, FLIPPED[op]
    else:
        return Unknown("a JSON comparison is not between a column and a literal")
    # Unlike types mean that the client dropped a cast around the column: the reference server
    # refuses them too. Both integer types compare alike.
    if column.cast != literal.type and not {column.cast, literal.type} <= _INTEGERS:
        return Unknown("a JSON comparison is between unlike value types")
    if not _binary_collation(node.get("exprCtx")):
        return Unknown("a JSON comparison uses a collation")
    return Compare(op, column, literal)


def _binary_collation(context: Any) -> bool:
    if context is None:
        return True
    if not isinstance(context, dict):
        return False
    identifier = context.get("collationIdentifier")
    return identifier is None or (
        isinstance(identifier, str) and identifier.split(".")[-1].upper() == "UTF8_BINARY"
    )


def _leaf(node: Any) -> Column | Literal | Unknown:
    if not isinstance(node, dict) or node.get("op") not in ("column", "literal"):
        return Unknown("a JSON operand is neither a column nor a literal")
    declared = node.get("valueType")
    value_type = _TYPES.get(declared.lower()) if isinstance(declared, str) else None
    if value_type is None:
        return Unknown("an unknown valueType in the JSON predicate")
    if node["op"] == "column":
        name = node.get("name")
        if not isinstance(name, str) or not name:
            return Unknown("a JSON column has no name")
        return Column((name,), value_type)
    if "value" not in node:
        return Unknown("a JSON literal has no value")
    value = node["value"]
    if isinstance(value, list | dict):
        return Unknown("a JSON literal is not a scalar")
    if value is None or (value == "null" and value_type != "string"):
        return Literal(None, value_type)
    slack_us = 0
    if value_type == "timestamp" and not _MICROSECONDS.search(str(value)):
        slack_us = _CUT_TIMESTAMP_SLACK_US
    return Literal(value, value_type, slack_us)
