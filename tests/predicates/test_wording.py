"""Predicates in words."""

import pytest

from headgate.model.schema import parse_schema
from headgate.predicates.bind import bind
from headgate.predicates.parse_sql import parse_sql_hints
from headgate.predicates.wording import BoundWording, predicate_text

SCHEMA = parse_schema(
    '{"type":"struct","fields":['
    + ",".join(
        f'{{"name":"{name}","type":"{kind}","nullable":true,"metadata":'
        f'{{"delta.columnMapping.physicalName":"col-{name}"}}}}'
        for name, kind in (
            ("i", "integer"),
            ("y", "byte"),
            ("s", "string"),
            ("f", "double"),
            ("m", "decimal(10,2)"),
            ("d", "date"),
            ("t", "timestamp"),
            ("n", "timestamp_ntz"),
            ("b", "boolean"),
        )
    )
    + "]}"
)


@pytest.mark.parametrize(
    ("sql", "parsed", "compared"),
    [
        ("i >= 5", "i >= 5", "i ≥ 5"),
        ("5 <> i", "i <> 5", "i ≠ 5"),
        ("NOT (i < 5)", "NOT i < 5", "i ≥ 5"),
        ("i = 5 AND (s = 'a' OR s IS NULL)",) * 2 + ("i = 5 and (s = 'a' or s is null)",),
        ("i IN (3, 1, NULL)", "i IN (3, 1, NULL)", "i is one of 1, 3"),
        ("s LIKE 'a%'", "s LIKE 'a%'", "s starts with 'a'"),
        ("s NOT LIKE 'a%'", "NOT s LIKE 'a%'", "s does not start with 'a'"),
        ("s = 'tab\there'", "s = 'tab\\u0009here'", "s = 'tab\\u0009here'"),
        ("m < 1.5", "m < 1.5", "m < 1.50"),
        ("f <= 1.5", "f <= 1.5", "f ≤ 1.5"),
        ("d = DATE '2024-02-29'", "d = date '2024-02-29'", "d = 2024-02-29"),
        ("b = TRUE", "b = TRUE", "b = true"),
        ("CAST(i AS BIGINT) = 5", "CAST(i AS long) = 5", "i = 5"),
        ("i IS NOT NULL", "NOT i IS NULL", "i is not null"),
        ("FALSE", "FALSE", "no row"),
        ("TRUE", "TRUE", "every row"),
        ("i = NULL", "i = NULL", "no row"),
    ],
)
def test_in_words(sql: str, parsed: str, compared: str) -> None:
    [predicate] = parse_sql_hints([sql])
    assert predicate_text(predicate) == parsed
    assert BoundWording(SCHEMA).text(bind(predicate, SCHEMA, [])) == compared


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("f > 1.5", "NaN may lie above every bound"),
        ("upper(s) = 'A'", "[not used: an SQL expression that is not supported]"),
        ("nowhere = 1", "[not used: a column that the table does not have]"),
    ],
)
def test_what_cannot_rule_out_says_why(sql: str, reason: str) -> None:
    [predicate] = parse_sql_hints([sql])
    assert reason in BoundWording(SCHEMA).text(bind(predicate, SCHEMA, []))


def test_moments_show_what_they_are_compared_as() -> None:
    wording = BoundWording(SCHEMA)

    def compared(sql: str) -> str:
        return wording.text(bind(parse_sql_hints([sql])[0], SCHEMA, []))

    # Seen from any time zone: the lower end decides.
    assert compared("t >= '2024-01-02 00:00:00'").startswith("t ≥ 2024-01-01 ")
    assert compared("t >= TIMESTAMP '2024-01-02 00:00:00Z'") == "t ≥ 2024-01-02 00:00:00Z"
    assert compared("n < TIMESTAMP_NTZ '2024-01-02 00:00:00'") == "n < 2024-01-02 00:00:00"


def test_long_lists_are_cut() -> None:
    [predicate] = parse_sql_hints([f"i IN ({', '.join(map(str, range(50)))})"])
    assert predicate_text(predicate) == "i IN (0, 1, 2, 3, 4, 5, … 50 in all)"
