import json

import pytest

from headgate.predicates.parse_json import parse_json_hint
from headgate.predicates.tree import (
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
    Unknown,
)


def column(name="id", value_type="int"):
    return {"op": "column", "name": name, "valueType": value_type}


def literal(value="25", value_type="int"):
    return {"op": "literal", "value": value, "valueType": value_type}


def op(name, *children, **more):
    return {"op": name, "children": list(children), **more}


def parse(node):
    return parse_json_hint(json.dumps(node))


ID = Column(("id",), "integer")


@pytest.mark.parametrize(
    ("name", "expected", "flipped"),
    [
        ("equal", Comparison.EQUAL, Comparison.EQUAL),
        ("lessThan", Comparison.LESS, Comparison.GREATER),
        ("lessThanOrEqual", Comparison.LESS_OR_EQUAL, Comparison.GREATER_OR_EQUAL),
        ("greaterThan", Comparison.GREATER, Comparison.LESS),
        ("greaterThanOrEqual", Comparison.GREATER_OR_EQUAL, Comparison.LESS_OR_EQUAL),
    ],
)
def test_comparisons_on_either_side(name, expected, flipped) -> None:
    value = Literal("25", "integer")
    assert parse(op(name, column(), literal())) == Compare(expected, ID, value)
    assert parse(op(name, literal(), column())) == Compare(flipped, ID, value)


def test_the_examples_of_the_protocol() -> None:
    hired = op("equal", column("hireDate", "date"), literal("2021-04-29", "date"))
    hired_bound = Compare(
        Comparison.EQUAL, Column(("hireDate",), "date"), Literal("2021-04-29", "date")
    )
    young = Compare(Comparison.LESS, ID, Literal("25", "integer"))
    assert parse(hired) == hired_bound
    assert parse(op("and", hired, op("lessThan", column(), literal()))) == And((hired_bound, young))
    assert parse(op("not", op("isNull", column()))) == Not(IsNull(ID))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (
            column("ok", "bool"),
            Compare(Comparison.EQUAL, Column(("ok",), "boolean"), Literal(True, "boolean")),
        ),
        (literal("true", "BOOL"), Constant(True)),
        (literal(False, "bool"), Constant(False)),
        (op("equal", column(), literal(25)), Compare(Comparison.EQUAL, ID, Literal(25, "integer"))),
        (
            op("equal", column(value_type="INT"), literal("5", "Long")),
            Compare(Comparison.EQUAL, ID, Literal("5", "long")),
        ),
        (
            op("equal", column(), literal("null")),
            Compare(Comparison.EQUAL, ID, Literal(None, "integer")),
        ),
        (
            op("equal", column("s", "string"), literal("null", "string")),
            Compare(Comparison.EQUAL, Column(("s",), "string"), Literal("null", "string")),
        ),
        (op("isNull", literal()), Constant(False)),
        (
            op(
                "equal",
                column("s", "string"),
                literal("x", "string"),
                exprCtx={"collationIdentifier": "spark.UTF8_BINARY"},
            ),
            Compare(Comparison.EQUAL, Column(("s",), "string"), Literal("x", "string")),
        ),
        (
            op("equal", column("s", "string"), literal("x", "string"), exprCtx=None),
            Compare(Comparison.EQUAL, Column(("s",), "string"), Literal("x", "string")),
        ),
    ],
)
def test_leaves(node, expected) -> None:
    assert parse(node) == expected


@pytest.mark.parametrize(
    ("text", "slack_us"),
    [
        ("2022-01-01T00:00:00Z", 999),
        ("2022-01-01T00:00:00.123Z", 999),
        ("2022-01-01T00:00:00.123456Z", 0),
    ],
)
def test_a_timestamp_cut_to_milliseconds_has_slack(text, slack_us) -> None:
    predicate = parse(op("equal", column("t", "timestamp"), literal(text, "timestamp")))
    assert predicate.literal == Literal(text, "timestamp", slack_us)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "1",
        '"equal"',
        "{}",
        '{"op": null}',
        '{"op": []}',
        '{"op": "equal", "children": {"a": 1}}',
        '"\ud800"',
        "[" * 2000,
        *map(
            json.dumps,
            [
                op("xor", column(), literal()),
                op("notEqual", column(), literal()),
                op("equal", column()),
                op("equal", column(), literal(), literal()),
                op("equal", column(), column()),
                op("equal", literal(), literal()),
                op("equal", column(), literal("5", "string")),
                op("equal", column("d", "date"), literal("5", "timestamp")),
                op("equal", column(), literal("5", "decimal")),
                op("equal", column(), literal(["5"])),
                op("equal", column(), literal({"a": 1})),
                op("equal", column(), {"op": "literal", "valueType": "int"}),
                op("equal", column(name=None), literal()),
                op("equal", column(name=""), literal()),
                op("equal", {"op": "column", "name": "id"}, literal()),
                op("equal", op("equal"), literal()),
                op(
                    "equal",
                    column("s", "string"),
                    literal("x", "string"),
                    exprCtx={"collationIdentifier": "icu.UNICODE"},
                ),
                op("equal", column("s", "string"), literal("x", "string"), exprCtx="icu"),
                op("isNull", literal("null")),
                op("isNull", literal("null", "string")),
                op("isNull"),
                op("and"),
                op("or", column("ok", "bool")),
                column(),
                literal("7", "int"),
            ],
        ),
    ],
)
def test_anything_odd_is_unknown(text) -> None:
    assert isinstance(parse_json_hint(text), Unknown)


def test_only_the_part_that_is_odd_is_unknown() -> None:
    good = op("equal", column(), literal())
    predicate = parse(op("and", good, op("like", column(), literal()), op("not", op("xor"))))
    assert isinstance(predicate, And)
    assert predicate.children[0] == Compare(Comparison.EQUAL, ID, Literal("25", "integer"))
    assert isinstance(predicate.children[1], Unknown)
    assert isinstance(predicate.children[2], Not)
    assert isinstance(predicate.children[2].child, Unknown)


def test_a_long_chain_of_pairs_is_one_node() -> None:
    chain = op("equal", column(), literal("0"))
    for value in range(1, 300):
        chain = op("or", chain, op("equal", column(), literal(str(value))))
    predicate = parse(chain)
    assert isinstance(predicate, Or)
    assert [each.literal.value for each in predicate.children] == [str(v) for v in range(300)]


def test_limits() -> None:
    deep = op("equal", column(), literal())
    for _ in range(200):
        deep = op("not", deep)
    predicate, depth = parse(deep), 0
    while isinstance(predicate, Not):
        predicate, depth = predicate.child, depth + 1
    assert isinstance(predicate, Unknown)
    assert depth == 101
    long = json.dumps(op("equal", column(), literal("5" * MAX_HINT_CHARACTERS)))
    assert isinstance(parse_json_hint(long), Unknown)
