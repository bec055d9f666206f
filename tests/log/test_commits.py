import json
from typing import Any

import pytest

from headgate.errors import DeltaLogError
from headgate.log.commits import parse_commit, read_commit, read_compaction
from headgate.log.listing import list_log
from headgate.log.segment import segment_at
from headgate.manifest.actions import ACTIONS
from headgate.manifest.keys import file_key
from tests.log.builders import METADATA, PROTOCOL, SCHEMA, Log, add, lines, remove


def parse(*actions: dict[str, Any]) -> Any:
    return parse_commit(lines(actions).encode(), 5, 77)


def rows(*actions: dict[str, Any]) -> list[dict[str, Any]]:
    batch = parse(*actions).actions
    batch.validate(full=True)
    assert batch.schema.equals(ACTIONS)
    return batch.to_pylist()


def test_an_add_with_everything() -> None:
    vector = {
        "storageType": "u",
        "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 4,
        "sizeInBytes": 40,
        "cardinality": 6,
    }
    (row,) = rows(
        add(
            "p%20=1/f.parquet",
            partitionValues={"p ": "1", "q": None},
            size=9,
            modificationTime=8,
            dataChange=False,
            stats='{"numRecords":3}',
            tags={"a": "b"},
            deletionVector=vector,
            baseRowId=11,
            defaultRowCommitVersion=12,
            clusteringProvider="liquid",
        )
    )
    assert row == {
        "version": 5,
        "ordinal": 0,
        "action": "add",
        "key": file_key("p%20=1/f.parquet", "uab^-aqEH.-t@S}K{vb[*k^@4"),
        "path": "p%20=1/f.parquet",
        "partition_values": [("p ", "1"), ("q", None)],
        "size": 9,
        "modification_time": 8,
        "deletion_timestamp": None,
        "data_change": False,
        "stats": '{"numRecords":3}',
        "dv_storage_type": "u",
        "dv_path_or_inline": "ab^-aqEH.-t@S}K{vb[*k^",
        "dv_offset": 4,
        "dv_size": 40,
        "dv_cardinality": 6,
        "base_row_id": 11,
        "default_row_commit_version": 12,
    }


def test_a_bare_remove_keeps_what_it_does_not_say_null() -> None:
    (row,) = rows({"remove": {"path": "a", "dataChange": True}})
    assert row["action"] == "remove"
    assert row["key"] == file_key("a")
    empty = {
        key
        for key, value in row.items()
        if value is None and key not in ("modification_time", "dv_offset")
    }
    assert {"partition_values", "size", "deletion_timestamp", "stats", "dv_storage_type"} <= empty


def test_a_cdc_file_is_no_data_change_and_ordinals_follow_the_file() -> None:
    found = rows(
        remove("a"),
        {"txn": {"appId": "x", "version": 1}},
        {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 3, "dataChange": True}},
        add("b"),
    )
    assert [(r["ordinal"], r["action"], r["data_change"]) for r in found] == [
        (0, "remove", True),
        (1, "cdc", False),
        (2, "add", True),
    ]


def test_table_level_actions() -> None:
    commit = parse(
        {"commitInfo": {"timestamp": 1, "inCommitTimestamp": 99, "operation": "WRITE"}},
        PROTOCOL,
        METADATA,
        {"domainMetadata": {"domain": "d", "configuration": "", "removed": False}},
        {"somethingNew": {"path": "x"}},
    )
    assert (commit.version, commit.modified_ms) == (5, 77)
    assert commit.protocol.min_reader_version == 1
    assert commit.metadata.schema_string == SCHEMA
    assert (commit.in_commit_timestamp_ms, commit.operation) == (99, "WRITE")
    assert commit.actions.num_rows == 0


def test_large_commits_keep_their_order() -> None:
    batch = parse(*(add(f"f{i}") for i in range(9_000))).actions
    assert batch["ordinal"].to_pylist() == list(range(9_000))
    assert batch["path"].to_pylist() == [f"f{i}" for i in range(9_000)]


@pytest.mark.parametrize("stats", [None, "null", ""])
def test_statistics_that_say_nothing_are_null(stats: str | None) -> None:
    assert rows(add("a", stats=stats))[0]["stats"] is None


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_let_pass() -> None:
    body = b"\xef\xbb\xbf" + b"\r\n  \n\n".join(
        json.dumps(action).encode() for action in (add("a"), add("b"))
    )
    assert parse_commit(body, 1, 1).actions["path"].to_pylist() == ["a", "b"]
    assert parse_commit(b"", 1, 1).actions.num_rows == 0


def test_line_separators_inside_values_do_not_end_a_line() -> None:
    body = json.dumps(add("a\u2028b\u0085c"), ensure_ascii=False).encode()
    assert parse_commit(body, 1, 1).actions["path"].to_pylist() == ["a\u2028b\u0085c"]


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(add("a"), indent=2),
        json.dumps(add("a")) + json.dumps(add("b")),
        '{"add":{"path":"a"',
        "nonsense",
        "[]",
        "5",
        '"add"',
        json.dumps({**add("a"), **remove("a")}),
        '{"add":5}',
        '{"add":{"size":1}}',
        '{"add":{"path":"a"}}',
        '{"add":{"path":"a","size":"large"}}',
        '{"add":{"path":7,"size":1}}',
        json.dumps(add("a", partitionValues={"p": 1})),
        json.dumps(add("a", deletionVector={"storageType": "u"})),
        json.dumps(add("a", stats={"numRecords": 1})),
        json.dumps(add("a", size=1 << 70)),
        '{"protocol":{}}',
        '{"metaData":{"schemaString":"{}"}}',
        '{"metaData":7}',
    ],
)
def test_what_is_not_an_action_a_line_is_an_error_that_names_the_version(body: str) -> None:
    with pytest.raises(DeltaLogError) as raised:
        parse_commit(body.encode(), 42, 1)
    assert raised.value.version == 42
    assert "at version 42" in str(raised.value)


def test_a_line_may_name_other_kinds_with_null() -> None:
    (row,) = rows({"txn": None, **add("a"), "remove": None})
    assert row["path"] == "a"


def test_reading_a_commit_and_a_compaction(log: Log) -> None:
    log.create(add("a"))
    log.commit(1, remove("a"), add("b"))
    log.write(f"{0:020}.{1:020}.compacted.json", lines([PROTOCOL, METADATA, remove("a"), add("b")]))
    segment = segment_at(list_log(log.store))
    commit = read_commit(log.store, segment.commits[1])
    assert commit.version == 1
    assert commit.modified_ms == segment.commits[1].file.modified_ms > 1_600_000_000_000
    compaction = list_log(log.store).compactions[0]
    read = read_compaction(log.store, compaction)
    assert read.version == 1
    assert read.actions.select(["action", "path"]).to_pylist() == [
        {"action": "remove", "path": "a"},
        {"action": "add", "path": "b"},
    ]
