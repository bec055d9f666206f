import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import DeltaLogError
from headgate.log.replay import replay
from tests.log.builders import METADATA, PROTOCOL, Log, add, lines, parquet, remove


def vector(number: int) -> dict[str, Any]:
    return {
        "storageType": "p",
        "pathOrInlineDv": f"s3://b/{number}",
        "sizeInBytes": 1,
        "cardinality": 1,
    }


def live(log: Log, version: int | None = None) -> list[str]:
    return sorted(replay(log.store, version).files["path"].to_pylist())


def test_the_last_action_on_a_file_wins(log: Log) -> None:
    log.create(add("a"), add("b"))
    log.commit(1, remove("a"))
    log.commit(2, add("a", size=7), remove("b"))
    assert [live(log, version) for version in range(3)] == [["a", "b"], ["b"], ["a"]]
    assert replay(log.store).files["size"].to_pylist() == [7]


@pytest.mark.parametrize("actions", [[add("a"), remove("a")], [remove("a"), add("a")]])
def test_in_one_commit_removes_come_before_adds(log: Log, actions: list[Any]) -> None:
    log.create(*actions)
    assert live(log) == ["a"]


def test_a_new_deletion_vector_replaces_the_file_with_the_old_one(log: Log) -> None:
    log.create(add("a"))
    log.commit(1, add("a", deletionVector=vector(1)), remove("a"))
    log.commit(2, remove("a", deletionVector=vector(1)), add("a", deletionVector=vector(2)))
    for version, stored in enumerate([None, "s3://b/1", "s3://b/2"]):
        files = replay(log.store, version).files
        assert files["dv_path_or_inline"].to_pylist() == [stored]


def test_paths_are_compared_decoded_and_with_one_spelling(log: Log) -> None:
    log.create(add("p=a%20b/%23.parquet"), add("/x/y%20z"))
    log.commit(1, remove("p%3Da b/%23.parquet"), remove("file:/x/y z"))
    assert live(log) == []


def test_cdc_files_are_not_the_tables(log: Log) -> None:
    log.create(add("a"), {"cdc": {"path": "a", "partitionValues": {}, "size": 1}})
    assert live(log) == ["a"]


def test_protocol_and_metadata_are_those_of_the_version(log: Log) -> None:
    log.create()
    changed = {"metaData": {**METADATA["metaData"], "configuration": {"k": "v"}}}
    log.commit(1, changed)
    log.commit(2, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}})
    found = [replay(log.store, version) for version in range(3)]
    assert [s.metadata.configuration for s in found] == [{}, {"k": "v"}, {"k": "v"}]
    assert [s.protocol.min_reader_version for s in found] == [1, 1, 2]


@pytest.mark.parametrize("hint", ["", "{", '{"version":0,"size":1}', '{"version":99,"size":1}'])
def test_the_last_checkpoint_file_does_not_matter(log: Log, hint: str) -> None:
    log.create(add("a"))
    log.write(f"{1:020}.checkpoint.parquet", parquet([PROTOCOL, METADATA, add("b")]))
    log.commit(1, remove("a"), add("b"))
    log.commit(2, add("c"))
    log.write("_last_checkpoint", hint)
    assert live(log) == ["b", "c"]


def test_an_incomplete_multi_part_checkpoint_does_not_matter(log: Log) -> None:
    log.create(add("a"))
    log.commit(1, add("b"))
    log.write(f"{1:020}.checkpoint.{1:010}.{2:010}.parquet", parquet([PROTOCOL, METADATA]))
    assert live(log) == ["a", "b"]


def refused(log: Log, version: int | None = None) -> DeltaLogError:
    with pytest.raises(DeltaLogError) as raised:
        replay(log.store, version)
    return raised.value


def metadata(**fields: Any) -> dict[str, Any]:
    return {"metaData": {**METADATA["metaData"], **fields}}


@pytest.mark.parametrize(
    ("actions", "cause"),
    [
        ([METADATA], "no protocol"),
        ([PROTOCOL], "no metaData"),
        ([PROTOCOL, metadata(schemaString=None)], "no schema"),
        ([PROTOCOL, metadata(schemaString="{")], "schemaString"),
        ([PROTOCOL, metadata(partitionColumns=["nope"])], "partition columns .* nope"),
        ([PROTOCOL, metadata(format={"provider": "orc"})], "not parquet"),
        (
            [PROTOCOL, metadata(configuration={"delta.columnMapping.mode": "odd"})],
            "column mapping mode 'odd'",
        ),
        ([{"protocol": {"minReaderVersion": 9}}, METADATA], "reader version 9"),
        *(
            (
                [
                    {"protocol": {"minReaderVersion": 3, "readerFeatures": [feature]}},
                    METADATA,
                ],
                f"unsupported reader features: {feature}",
            )
            for feature in ("catalogManaged", "catalogOwned-preview", "fromTheFuture")
        ),
    ],
)
def test_a_table_that_cannot_be_served_is_refused_with_cause_and_version(
    log: Log, actions: list[Any], cause: str
) -> None:
    log.commit(0, *actions)
    log.commit(1, add("a"))
    with pytest.raises(DeltaLogError, match=cause) as raised:
        replay(log.store)
    assert raised.value.version == 1


def test_a_bad_version_does_not_spoil_the_ones_around_it(log: Log) -> None:
    log.create(add("a"))
    log.commit(1, {"protocol": {"minReaderVersion": 9}})
    log.commit(2, PROTOCOL)
    assert refused(log, 1).version == 1
    assert live(log, 0) == live(log, 2) == ["a"]


def test_a_broken_commit_is_refused_with_its_own_version(log: Log) -> None:
    log.create()
    log.write(f"{1:020}.json", json.dumps(add("a"), indent=1))
    log.commit(2, add("b"))
    assert refused(log).version == 1


FILES = st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 1, 2]))


@st.composite
def histories(draw: st.DrawFn) -> list[list[tuple[str, tuple[str, int | None]]]]:
    """Commits of adds and removes of files with deletion vectors; no file twice in a commit."""
    return draw(
        st.lists(
            st.lists(
                st.tuples(st.sampled_from(["add", "remove"]), FILES),
                max_size=4,
                unique_by=lambda action: action[1],
            ),
            min_size=1,
            max_size=7,
        )
    )


def action(kind: str, file: tuple[str, int | None], size: int) -> dict[str, Any]:
    path, number = file
    fields = {} if number is None else {"deletionVector": vector(number)}
    return add(path, size=size, **fields) if kind == "add" else remove(path, **fields)


@settings(deadline=None)
@given(histories(), st.data())
def test_replay_agrees_with_a_set_of_files_whatever_shortens_the_log(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any], data: st.DataObject
) -> None:
    log = Log(Path(tmp_path_factory.mktemp("log")) / "t")
    states: list[dict[tuple[str, int | None], int]] = []
    commits: list[list[dict[str, Any]]] = []
    state: dict[tuple[str, int | None], int] = {}
    for version, commit in enumerate(history):
        actions: list[dict[str, Any]] = [] if version else [PROTOCOL, METADATA]
        for kind, file in commit:
            actions.append(action(kind, file, version))
            if kind == "add":
                state = {**state, file: version}
            else:
                state = {f: v for f, v in state.items() if f != file}
        log.commit(version, *actions)
        states.append(state)
        commits.append(actions)
    versions = st.integers(0, len(history) - 1)

    checkpoint = data.draw(st.none() | versions)
    if checkpoint is not None:
        adds = [action("add", file, size) for file, size in states[checkpoint].items()]
        body = [PROTOCOL, METADATA, *adds, remove("tombstone")]
        if data.draw(st.booleans()):
            log.write(f"{checkpoint:020}.checkpoint.parquet", parquet(body))
        else:
            log.write(f"{checkpoint:020}.checkpoint.u.json", lines(body))
    start, end = sorted(data.draw(st.tuples(versions, versions)))
    if start < end:
        last: dict[Any, dict[str, Any]] = {}
        for version in range(start, end + 1):
            for kind, file in history[version]:
                last[file] = action(kind, file, version)
        head = [PROTOCOL, METADATA] if start == 0 else []
        log.write(f"{start:020}.{end:020}.compacted.json", lines([*head, *last.values()]))

    for version, wanted in enumerate(states):
        files = replay(log.store, version).files.to_pylist()
        found = {
            (f["path"], f["dv_path_or_inline"] and int(f["dv_path_or_inline"][-1])): f["size"]
            for f in files
        }
        assert len(files) == len(found)
        assert found == wanted
