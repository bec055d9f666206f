import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.predicates.parse_sql import parse_sql_hints
from headgate.predicates.tree import (
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
    StartsWith,
    Unknown,
)

A = Column(("a",))
B = Column(("b",))
EQ, LESS, GREATER = Comparison.EQUAL, Comparison.LESS, Comparison.GREATER
AT_LEAST, AT_MOST = Comparison.GREATER_OR_EQUAL, Comparison.LESS_OR_EQUAL


def parse(hint):
    (predicate,) = parse_sql_hints([hint])
    return predicate


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("a = 1", Compare(EQ, A, Literal(1))),
        ("a == 1", Compare(EQ, A, Literal(1))),
        ("1 = a", Compare(EQ, A, Literal(1))),
        ("1 < a", Compare(GREATER, A, Literal(1))),
        ("1 >= a", Compare(AT_MOST, A, Literal(1))),
        ("a <> 'x'", Compare(Comparison.NOT_EQUAL, A, Literal("x"))),
        ("a != 'x'", Compare(Comparison.NOT_EQUAL, A, Literal("x"))),
        ("a <=> NULL", Compare(Comparison.NULL_SAFE_EQUAL, A, Literal(None))),
        ("a = CAST(NULL AS INT)", Compare(EQ, A, Literal(None, "integer"))),
        ("((a)) = ((1))", Compare(EQ, A, Literal(1))),
        ("a IN (1, -2, NULL)", In(A, (Literal(1), Literal(-2), Literal(None)))),
        ("a NOT IN ('x')", Not(In(A, (Literal("x"),)))),
        (
            "a BETWEEN 1 AND 2",
            And((Compare(AT_LEAST, A, Literal(1)), Compare(AT_MOST, A, Literal(2)))),
        ),
        (
            "a NOT BETWEEN 1 AND 2",
            Not(And((Compare(AT_LEAST, A, Literal(1)), Compare(AT_MOST, A, Literal(2))))),
        ),
        ("a LIKE 'x%'", StartsWith(A, "x")),
        ("a NOT LIKE 'x%'", Not(StartsWith(A, "x"))),
        ("a LIKE '%'", StartsWith(A, "")),
        ("a LIKE 'x'", Compare(EQ, A, Literal("x", "string"))),
        ("startswith(a, 'x_')", StartsWith(A, "x_")),
        ("a IS NULL", IsNull(A)),
        ("a IS NOT NULL", Not(IsNull(A))),
        ("a", Compare(EQ, A, Literal(True, "boolean"))),
        ("NOT a", Not(Compare(EQ, A, Literal(True, "boolean")))),
        ("! a = 1", Not(Compare(EQ, A, Literal(1)))),
        ("a IS NOT TRUE", Not(Compare(Comparison.NULL_SAFE_EQUAL, A, Literal(True, "boolean")))),
        ("TRUE", Constant(True)),
        ("NULL", Constant(None)),
        ("1 = 0", Constant(False)),
        (
            "a = 1 AND b = 2 AND a = 3",
            And(
                (Compare(EQ, A, Literal(1)), Compare(EQ, B, Literal(2)), Compare(EQ, A, Literal(3)))
            ),
        ),
        (
            "a = 1 OR NOT b = 2 AND a = 3",
            Or(
                (
                    Compare(EQ, A, Literal(1)),
                    And((Not(Compare(EQ, B, Literal(2))), Compare(EQ, A, Literal(3)))),
                )
            ),
        ),
    ],
)
def test_predicates(hint, expected) -> None:
    assert parse(hint) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'it\\'s'", Literal("it's")),
        ("'a\\\\b'", Literal("a\\b")),
        ("'line\\n'", Literal("line\n")),
        ("'--'", Literal("--")),
        ("3L", Literal(3, "long")),
        ("-9223372036854775808L", Literal(-(2**63), "long")),
        ("3S", Literal(3, "short")),
        ("-128Y", Literal(-128, "byte")),
        ("1.5", Literal(Decimal("1.5"))),
        ("-.5", Literal(Decimal("-.5"))),
        ("1.50BD", Literal(Decimal("1.50"), "decimal(3,2)")),
        (
            "-1234567890123456789012345678901234567.5BD",
            Literal(Decimal("-1234567890123456789012345678901234567.5"), "decimal(38,1)"),
        ),
        ("1.0E-3BD", Literal(Decimal("0.0010"), "decimal(4,4)")),
        ("1.5D", Literal(Decimal("1.5"), "double")),
        ("1e3", Literal(1000.0)),
        ("X'0aff'", Literal(b"\n\xff")),
        ("DATE '2021-01-01'", Literal("2021-01-01", "date")),
        ("TIMESTAMP '2021-01-01 00:00:00'", Literal("2021-01-01 00:00:00", "timestamp")),
        ("TIMESTAMP_NTZ '2021-01-01 00:00:00'", Literal("2021-01-01 00:00:00", "timestamp_ntz")),
        ("CAST('2021-01-01' AS DATE)", Literal("2021-01-01", "date")),
        ("CAST(-1 AS SMALLINT)", Literal(-1, "short")),
        ("CAST('NaN' AS DOUBLE)", Literal("NaN", "double")),
        ("CAST(1.5 AS FLOAT)", Literal(Decimal("1.5"), "float")),
        ("CAST('1.5' AS DECIMAL)", Literal(Decimal("1.5"), "decimal(10,0)")),
        ("CAST('x' AS STRING)", Literal("x", "string")),
        ("FALSE", Literal(False)),
    ],
)
def test_literals(text, expected) -> None:
    assert parse(f"a = {text}") == Compare(EQ, A, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b.c.d.e.f", Column(("a", "b", "c", "d", "e", "f"))),
        ("`a.b`.c", Column(("a.b", "c"))),
        ("`we``ird - '`", Column(("we`ird - '",))),
        ("date", Column(("date",))),
        ("CAST(a AS BIGINT)", Column(("a",), "long")),
        ("CAST(a AS decimal(12, 2))", Column(("a",), "decimal(12,2)")),
        ("cast(partitionValues.date as date)", Column(("partitionValues", "date"), "date")),
        ("CAST(a AS TIMESTAMP_LTZ)", Column(("a",), "timestamp")),
    ],
)
def test_columns(text, expected) -> None:
    assert parse(f"{text} >= 1") == Compare(AT_LEAST, expected, Literal(1))


@pytest.mark.parametrize(
    "hint",
    [
        "",
        "a =",
        "a = b",
        "a + 1 = 2",
        "-a = 1",
        "f(a) = 1",
        "a[0] = 1",
        "a.* = 1",
        "a LIKE '%x'",
        "a LIKE 'x_%'",
        "a LIKE 'x\\\\%'",
        "a LIKE 'x%' ESCAPE '!'",
        "a LIKE ANY ('x%')",
        "a ILIKE 'x%'",
        "a RLIKE 'x'",
        "a IN ()",
        "a IN (SELECT 1)",
        "a IN (1, b)",
        "a BETWEEN SYMMETRIC 2 AND 1",
        "a IS DISTINCT FROM 1",
        "a IS NULL = TRUE",
        "a = 'it''s'",
        "a = 'x\\%'",
        "a = '\\u0041'",
        "a = r'x'",
        'a = "x"',
        "a = 1 -- b",
        "a /* b */ = 1",
        "a = 1; b = 2",
        "SELECT 1",
        "DROP TABLE a",
        "a = 1e",
        "a = 1e999",
        "a = :p",
        "a = INTERVAL 1 DAY",
        "a = CURRENT_DATE()",
        "a = CAST(CAST(1 AS INT) AS BIGINT)",
        "CAST(CAST(a AS INT) AS BIGINT) = 1",
        "a = CAST('xyz' AS VARCHAR(2))",
        "a = CAST('1.5x' AS DECIMAL(3, 1))",
        "CAST(a AS STRUCT<b: INT>) = 1",
        "(a, b) IN ((1, 2))",
        "a = -'x'",
        "a = 'x",
        "a = x'0",
        "(" * 150 + "a = 1" + ")" * 150,
        "NOT " * 5000 + "a",
        "a" + "::INT" * 4000 + " = 1",
        "- " * 5000 + "1 = a",
    ],
)
def test_anything_else_is_unknown(hint) -> None:
    predicate = parse(hint)
    assert isinstance(predicate, Unknown)
    assert predicate.reason.isascii()


def test_only_the_part_that_is_odd_is_unknown() -> None:
    predicate = parse("a = 1 AND (b RLIKE 'x' OR b = 2)")
    assert isinstance(predicate, And)
    assert predicate.children[0] == Compare(EQ, A, Literal(1))
    assert isinstance(predicate.children[1], Or)
    assert isinstance(predicate.children[1].children[0], Unknown)
    assert predicate.children[1].children[1] == Compare(EQ, B, Literal(2))


def test_a_long_chain_is_one_node() -> None:
    predicate = parse(" OR ".join(f"a = {value}" for value in range(2000)))
    assert isinstance(predicate, Or)
    assert [each.literal.value for each in predicate.children] == list(range(2000))


def test_hints_beyond_the_budget_are_unknown() -> None:
    filler = "a = '" + "x" * (MAX_HINT_CHARACTERS - 20) + "'"
    first, second, third = parse_sql_hints(["b = 1", filler, "b = 2 AND a = 2"])
    assert first == Compare(EQ, B, Literal(1))
    assert isinstance(second, Compare)
    assert isinstance(third, Unknown)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                [
                    "a",
                    "b.c",
                    "=",
                    "<=>",
                    "NOT",
                    "(",
                    ")",
                    "AND",
                    "OR",
                    "IN",
                    "1",
                    "'x'",
                    "LIKE",
                    "BETWEEN",
                    "IS",
                    "NULL",
                    "CAST",
                    "AS",
                    "INT",
                    ",",
                    "-",
                    "DATE",
                    "`",
                    "\\",
                    ";",
                ]
            ),
            max_size=14,
        ).map(" ".join),
    )
)
def test_no_text_raises(hint) -> None:
    assert len(parse_sql_hints([hint, "a = 1"])) == 2


def test_sqlglot_is_loaded_with_the_first_hint_only() -> None:
    code = (
        "import sys, headgate.predicates.parse_sql as p;"
        "assert 'sqlglot' not in sys.modules;"
        "p.parse_sql_hints(['a = 1']);"
        "assert 'sqlglot' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
