import json

import pyarrow as pa
import pytest

from headgate.model.schema import Array, Decimal, Field, Primitive, Struct, parse_schema
from headgate.predicates.bind import (
    BoundAnd,
    BoundColumn,
    BoundCompare,
    BoundConstant,
    BoundIn,
    BoundNull,
    BoundOr,
    BoundPrefix,
    bind,
    unused,
)
from headgate.predicates.intervals import Interval
from headgate.predicates.parse_json import parse_json_hint
from headgate.predicates.parse_sql import parse_sql_hints
from headgate.predicates.tree import Comparison, Unknown

HOUR = 3_600_000_000


def field(name, kind, physical=None, **metadata):
    if physical is not None:
        metadata["delta.columnMapping.physicalName"] = physical
    kind = Primitive(kind) if isinstance(kind, str) else kind
    return Field(name, kind, True, metadata)


SCHEMA = Struct(
    (
        field("id", "long", physical="col-1"),
        field("Name", "string"),
        field("name", "long", physical="other"),
        field("price", Decimal(10, 2)),
        field("x", "double"),
        field("ok", "boolean"),
        field("day", "date"),
        field("at", "timestamp"),
        field("part", "integer"),
        field("when", "timestamp"),
        field("raw", "binary"),
        field("shape", "variant"),
        field("list", Array(Primitive("long"))),
        field("s.t", "long"),
        field("s", Struct((field("leaf", "long", physical="col-3"),)), physical="col-2"),
        field("lower", "string", __COLLATIONS={"lower": "spark.UTF8_LCASE"}),
        field("padded", "string", __CHAR_VARCHAR_TYPE_STRING="char(5)"),
        field("sized", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(5)"),
    )
)
PARTITIONS = ("part", "when", "day", "Name")

ID = BoundColumn(("col-1",), pa.int64())
NAME = BoundColumn(("Name",), pa.binary())
PRICE = BoundColumn(("price",), pa.decimal128(38, 2))


def bound(hint):
    (predicate,) = parse_sql_hints([hint])
    return bind(predicate, SCHEMA, PARTITIONS)


def compare(op, column, value, exact=True):
    return BoundCompare(Comparison(op), column, Interval(value, value, exact))


@pytest.mark.parametrize(
    ("hint", "physical"),
    [
        ("id = 1", ("col-1",)),
        ("ID = 1", ("col-1",)),
        ("Name = 'x'", ("Name",)),
        ("NAME = 'x'", ("Name",)),
        ("name = 1", ("other",)),
        ("s.leaf = 1", ("col-2", "col-3")),
        ("S.LEAF = 1", ("col-2", "col-3")),
        ("`s.t` = 1", ("s.t",)),
        ("`s.leaf` = 1", ("col-2", "col-3")),
        ("cast(partitionValues.part as int) = 1", ("part",)),
        ("partitionvalues.PART = 1", ("part",)),
        ("partitionValues.Name = 'x'", ("Name",)),
        ("partitionValues.day = '2021-01-01'", ("day",)),
    ],
)
def test_names(hint, physical) -> None:
    assert bound(hint).column.physical == physical


def test_a_struct_named_partition_values_comes_first() -> None:
    inner = Struct((field("part", "string", physical="inner"),))
    schema = Struct((*SCHEMA.fields, field("partitionValues", inner, physical="outer")))
    (predicate,) = parse_sql_hints(["partitionValues.part = 'x'"])
    assert bind(predicate, schema, PARTITIONS).column.physical == ("outer", "inner")


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("NOT id = 1", compare("<>", ID, 1)),
        ("NOT id <> 1", compare("=", ID, 1)),
        ("NOT id < 1", compare(">=", ID, 1)),
        ("NOT id <= 1", compare(">", ID, 1)),
        ("NOT id > 1", compare("<=", ID, 1)),
        ("NOT NOT id >= 1", compare(">=", ID, 1)),
        ("NOT id IS NULL", BoundNull(("col-1",), is_null=False)),
        ("NOT id IS NOT NULL", BoundNull(("col-1",), is_null=True)),
        ("id <=> 1", compare("=", ID, 1)),
        ("NOT id <=> 1", BoundOr((compare("<>", ID, 1), BoundNull(("col-1",), is_null=True)))),
        ("id <=> NULL", BoundNull(("col-1",), is_null=True)),
        ("NOT id <=> NULL", BoundNull(("col-1",), is_null=False)),
        ("id = NULL", BoundConstant(False)),
        ("NOT id = NULL", BoundConstant(False)),
        ("TRUE", BoundConstant(True)),
        ("NOT TRUE", BoundConstant(False)),
        ("NOT FALSE", BoundConstant(True)),
        ("NULL", BoundConstant(False)),
        ("NOT NULL", BoundConstant(False)),
        ("NOT (id = 1 AND id = 2)", BoundOr((compare("<>", ID, 1), compare("<>", ID, 2)))),
        ("NOT (id = 1 OR id = 2)", BoundAnd((compare("<>", ID, 1), compare("<>", ID, 2)))),
        ("id IN (3, 1, NULL, 3)", BoundIn(ID, (Interval(1, 1, True), Interval(3, 3)))),
        ("id IN (NULL)", BoundConstant(False)),
        ("id IN (100000000000000000000)", BoundConstant(False)),
        ("id NOT IN (1, 2)", BoundAnd((compare("<>", ID, 1), compare("<>", ID, 2)))),
        ("id NOT IN (1, NULL)", BoundConstant(False)),
        (
            "id NOT IN (1, 2.5D)",
            BoundAnd(
                (
                    compare("<>", ID, 1, False),
                    BoundCompare(Comparison.NOT_EQUAL, ID, Interval(2, 3)),
                )
            ),
        ),
        ("ok", compare("=", BoundColumn(("ok",), pa.int64()), 1)),
        ("NOT ok", compare("<>", BoundColumn(("ok",), pa.int64()), 1)),
        ("Name LIKE 'ab%'", BoundPrefix(NAME, b"ab", b"ac", negated=False)),
        ("Name NOT LIKE 'ab%'", BoundPrefix(NAME, b"ab", b"ac", negated=True)),
        ("Name LIKE '%'", BoundNull(("Name",), is_null=False)),
        ("Name NOT LIKE '%'", BoundConstant(False)),
        # NaN: a client that compares as IEEE 754 does finds NOT (x >= 1) true.
        ("NOT x >= 1", BoundNull(("x",), is_null=False)),
        ("NOT x > 1", BoundNull(("x",), is_null=False)),
        ("NOT x < 1", compare(">=", BoundColumn(("x",), pa.float64()), 1.0, False)),
    ],
)
def test_negation_reaches_the_leaves(hint, expected) -> None:
    assert bound(hint) == expected


@pytest.mark.parametrize(
    "hint",
    [
        "missing = 1",
        "id.leaf = 1",
        "s = 1",
        "list = 1",
        "s IS NULL",
        "list IS NULL",
        "raw = X'00'",
        "shape = 1",
        "lower = 'x'",
        "lower LIKE 'x%'",
        "padded = 'x'",
        "id",
        "id LIKE '1%'",
        "CAST(id AS STRING) LIKE '1%'",
        "CAST(id AS STRING) IS NULL",
        "CAST(Name AS INT) IS NULL",
        "Name = 1",
        "Name IN ('x', 1)",
        "x = CAST('NaN' AS DOUBLE)",
        "id IN (9007199254740993, 1.5D)",
        "partitionValues.missing = 1",
        "partitionValues.id = 1",
        "partitionValues.part = '1'",
        "cast(partitionValues.part as long) = 1",
        "cast(partitionValues.part as string) = '1'",
    ],
)
def test_what_cannot_be_bound_is_unknown_and_so_is_its_negation(hint) -> None:
    for each in (hint, f"NOT ({hint})"):
        found = bound(each)
        assert isinstance(found, Unknown)
        assert unused(found) == [found.reason]


@pytest.mark.parametrize("hint", ["raw IS NULL", "lower IS NULL", "CAST(id AS DOUBLE) IS NULL"])
def test_nulls_need_no_order(hint) -> None:
    assert isinstance(bound(hint), BoundNull)


def test_sized_text_is_not_padded() -> None:
    assert bound("sized = 'x'") == compare("=", BoundColumn(("sized",), pa.binary()), b"x")


def test_decimals_are_compared_at_their_scale() -> None:
    assert bound("price > 1.505").column == PRICE


def test_a_timestamp_partition_value_is_in_an_unknown_zone() -> None:
    hint = "= TIMESTAMP '1970-01-01 00:00:00Z'"
    assert bound(f"at {hint}").interval == Interval(0, 0, exact=True)
    assert bound(f"`when` {hint}").interval == Interval(-18 * HOUR, 18 * HOUR)
    assert bound(f"`when` NOT IN ({hint[2:]})").children[0].interval.exact is False


def test_text_of_a_date_partition_may_differ_where_the_date_does_not() -> None:
    assert bound("day <> '2021-01-01'").interval.exact
    assert not bound("partitionValues.day <> '2021-01-01'").interval.exact


def test_the_value_type_of_a_json_column_is_a_cast() -> None:
    def equal(value_type, value):
        operands = (
            f'{{"op":"column","name":"id","valueType":"{value_type}"}},'
            f'{{"op":"literal","value":"{value}","valueType":"{value_type}"}}'
        )
        return bind(parse_json_hint(f'{{"op":"equal","children":[{operands}]}}'), SCHEMA, ())

    assert equal("long", 5) == compare("=", ID, 5)
    assert isinstance(equal("int", 5), Unknown)  # narrower than the column
    assert isinstance(equal("string", 5), Unknown)
    assert equal("double", 5.5).interval == Interval(5, 6)


def test_reasons_are_distinct_and_in_order() -> None:
    found = bound("missing = 1 AND (id = 1 OR raw = X'00') AND gone = 2")
    assert unused(found) == [
        "a column that the table does not have",
        "comparisons on binary columns are not used",
    ]
    assert unused(bound("id = 1")) == []


def test_columns_of_a_collations_table(golden) -> None:
    log = golden / "delta-golden/collations-table/_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    text = next(each["metaData"]["schemaString"] for each in actions if "metaData" in each)
    schema = parse_schema(text)
    (binary, lower, icu) = (
        bind(predicate, schema, ())
        for predicate in parse_sql_hints(
            [f"{name} = 'x'" for name in ("utf8_binary_col", "utf8_lcase_col", "unicode_col")]
        )
    )
    assert isinstance(binary, BoundCompare)
    assert isinstance(lower, Unknown)
    assert isinstance(icu, Unknown)
