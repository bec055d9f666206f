import datetime
import pickle
from typing import Any

import pyarrow as pa
import pytest

from headgate.errors import DeltaLogError
from headgate.log import checkpoints
from headgate.log.checkpoints import (
    checkpoint_tasks,
    read_checkpoint_state,
    read_checkpoint_task,
)
from headgate.log.listing import list_log
from headgate.manifest.actions import ACTIONS
from headgate.manifest.keys import file_key
from tests.log.builders import LOG_COLUMNS, METADATA, PROTOCOL, Log, add, lines, parquet, remove

HEADER = [PROTOCOL, METADATA]
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "vector",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
ADDS = [
    add("a%20b", partitionValues={"p": "1", "q": None}, size=5, stats='{"numRecords":1}'),
    add("c", deletionVector=VECTOR, stats="null"),
    add("d"),
    add("e"),
]
OTHERS = [remove("gone"), {"txn": {"appId": "x", "version": 1}}]


def write(log: Log, form: str) -> None:
    """A checkpoint of HEADER and ADDS at version 3."""
    prefix = f"{3:020}.checkpoint"
    known = [*HEADER, OTHERS[0]]
    sidecars = [{"sidecar": {"path": f"s%20{i}.parquet", "sizeInBytes": 1}} for i in range(2)]
    match form:
        case "classic":
            log.write(f"{prefix}.parquet", parquet([*known, *ADDS]))
        case "multi-part":
            for i, actions in enumerate(([*known, *ADDS[:1]], ADDS[1:3], ADDS[3:]), 1):
                log.write(f"{prefix}.{i:010}.{3:010}.parquet", parquet(actions))
        case "v2 json":
            log.write(f"{prefix}.u-u.json", lines([*HEADER, *OTHERS, *ADDS]))
        case "v2 json, sidecars":
            log.write(f"{prefix}.u-u.json", lines([*HEADER, *OTHERS, *sidecars]))
        case "v2 parquet":
            log.write(f"{prefix}.u-u.parquet", parquet([*known, *ADDS]))
        case "v2 parquet, sidecars":
            log.write(f"{prefix}.u-u.parquet", parquet([*known, *sidecars]))
        case "v2 classic, sidecars":
            log.write(f"{prefix}.parquet", parquet([*known, *sidecars]))
    if "sidecars" in form:
        log.write("_sidecars/s 0.parquet", parquet([*ADDS[:3], remove("gone")]))
        log.write("_sidecars/s 1.parquet", parquet(ADDS[3:]))


FORMS = [
    "classic",
    "multi-part",
    "v2 json",
    "v2 json, sidecars",
    "v2 parquet",
    "v2 parquet, sidecars",
    "v2 classic, sidecars",
]


def read(log: Log, **options: Any) -> pa.Table:
    (checkpoint,) = list_log(log.store).checkpoints
    batches = []
    for task in checkpoint_tasks(log.store, checkpoint):
        task = pickle.loads(pickle.dumps(task))
        batches += list(read_checkpoint_task(log.store, task, **options))
    table = pa.Table.from_batches(batches, ACTIONS)
    table.validate(full=True)
    return table


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_adds_and_state(log: Log, form: str) -> None:
    write(log, form)
    rows = read(log).to_pylist()
    assert [row["path"] for row in rows] == ["a%20b", "c", "d", "e"]
    assert {row["action"] for row in rows} == {"add"}
    assert {row["version"] for row in rows} == {3}
    first, second = rows[:2]
    assert first["partition_values"] == [("p", "1"), ("q", None)]
    assert (first["size"], first["stats"]) == (5, '{"numRecords":1}')
    assert first["key"] == file_key("a%20b")
    assert first["dv_storage_type"] is None
    assert second["key"] == file_key("c", "uvector@4")
    assert [second[f"dv_{name}"] for name in ("offset", "size", "cardinality")] == [4, 40, 6]
    assert second["stats"] is None

    (checkpoint,) = list_log(log.store).checkpoints
    state = read_checkpoint_state(log.store, checkpoint)
    assert state.rows == len(ADDS)
    assert state.protocol is not None
    assert state.protocol.reader_features is None
    assert state.metadata is not None
    assert state.metadata.to_json() == METADATA["metaData"]


def test_tasks_split_by_row_groups_and_tile_the_adds(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "_TASK_ROWS", 4)
    actions = [*HEADER, *(remove(f"r{i}") for i in range(6)), *(add(f"f{i}") for i in range(11))]
    actions += [remove(f"s{i}") for i in range(4)] + [add("last")]
    log.write(f"{0:020}.checkpoint.parquet", parquet(actions, row_group_size=2))
    (checkpoint,) = list_log(log.store).checkpoints
    tasks = checkpoint_tasks(log.store, checkpoint)
    assert [(task.row_groups, task.rows) for task in tasks] == [
        ((4, 6), 4),
        ((6, 8), 4),
        ((8, 11), 3),
        ((11, 12), 1),
    ]
    rows = read(log, batch_rows=3)
    assert rows["path"].to_pylist() == [f"f{i}" for i in range(11)] + ["last"]
    assert rows["ordinal"].to_pylist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0]


def schema_with(**fields: pa.DataType) -> pa.Schema:
    """LOG_COLUMNS with fields of `add` added, or taken out where None."""
    add_type = LOG_COLUMNS.field("add").type
    kept = {f.name: f.type for f in add_type} | fields
    struct = pa.struct([(name, kind) for name, kind in kept.items() if kind is not None])
    return LOG_COLUMNS.set(0, pa.field("add", struct))


STATS = pa.struct([("numRecords", pa.int64()), ("minValues", pa.struct([("id", pa.int64())]))])
PARSED = {"numRecords": 2, "minValues": {"id": 1}}
RENDERED = '{"numRecords":2,"minValues":{"id":1}}'


@pytest.mark.parametrize("json_column", [True, False])
def test_struct_statistics_stand_in_for_missing_json_ones(log: Log, json_column: bool) -> None:
    schema = schema_with(stats_parsed=STATS, **({} if json_column else {"stats": None}))
    own = {"stats": '{"numRecords":2}'} if json_column else {}
    actions = [*HEADER, add("a", stats_parsed=PARSED, **own), add("b", stats_parsed=PARSED)]
    actions.append(add("c"))
    log.write(f"{0:020}.checkpoint.parquet", parquet(actions, schema))
    assert read(log)["stats"].to_pylist() == [own.get("stats", RENDERED), RENDERED, None]


def test_partition_values_may_be_there_only_as_a_struct(log: Log) -> None:
    schema = schema_with(
        partitionValues=None, partitionValues_parsed=pa.struct([("p", pa.date32())])
    )
    actions = []
    for path, value in (("a", datetime.date(2020, 1, 2)), ("b", None)):
        action = add(path, partitionValues_parsed={"p": value})
        del action["add"]["partitionValues"]
        actions.append(action)
    log.write(f"{0:020}.checkpoint.parquet", parquet([*HEADER, *actions], schema))
    assert read(log)["partition_values"].to_pylist() == [[("p", "2020-01-02")], [("p", None)]]


def test_optional_columns_may_be_missing(log: Log) -> None:
    schema = schema_with(stats=None, deletionVector=None, partitionValues=None)
    log.write(f"{0:020}.checkpoint.parquet", parquet([*HEADER, add("a")], schema))
    (row,) = read(log).to_pylist()
    assert row["partition_values"] == []
    assert row["stats"] is None
    assert row["key"] == file_key("a")


def test_a_checkpoint_without_adds_or_state(log: Log) -> None:
    log.write(f"{0:020}.checkpoint.parquet", parquet([remove("a")]))
    (checkpoint,) = list_log(log.store).checkpoints
    assert checkpoint_tasks(log.store, checkpoint) == []
    state = read_checkpoint_state(log.store, checkpoint)
    assert (state.protocol, state.metadata, state.rows) == (None, None, 0)


@pytest.mark.parametrize("form", ["v2 json, sidecars", "v2 classic, sidecars"])
def test_a_missing_sidecar_is_an_error_that_names_the_version(log: Log, form: str) -> None:
    write(log, form)
    (log.folder / "_sidecars" / "s 1.parquet").unlink()
    (checkpoint,) = list_log(log.store).checkpoints
    with pytest.raises(DeltaLogError, match="missing") as raised:
        checkpoint_tasks(log.store, checkpoint)
    assert raised.value.version == 3


def test_a_damaged_checkpoint_is_an_error_that_names_the_version(log: Log) -> None:
    log.write(f"{3:020}.checkpoint.parquet", parquet([*HEADER, *ADDS])[:-50])
    (checkpoint,) = list_log(log.store).checkpoints
    for reads in (checkpoint_tasks, read_checkpoint_state):
        with pytest.raises(DeltaLogError, match="cannot be read at version 3"):
            reads(log.store, checkpoint)
