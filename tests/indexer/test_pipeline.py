"""The Spark pipeline against the in-memory replay: the same files at every version.

Epochs and segments are made tiny, so that short histories have many of each.
"""

import dataclasses
import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalog import SharedLocation
from headgate.errors import DeltaLogError
from headgate.indexer import plan
from headgate.indexer.pipeline import Outcome, TableResult, index_tables, read_head
from headgate.indexer.session import spark_session
from headgate.log.listing import list_log
from headgate.log.replay import replay
from headgate.manifest.head import Head, encode_head, head_key
from headgate.manifest.read import ManifestReader
from headgate.model.sharing import Table
from headgate.query.prune import select
from headgate.query.versions import snapshot_at
from headgate.storage.local import LocalObjectStore
from headgate.storage.locate import open_store
from headgate.storage.options import StorageOptions

OPTIONS = StorageOptions()
HISTORIES = 25


def shared(location: str, history: bool = True, start: int = 0) -> SharedLocation:
    table = Table("t", "s", "h", location)
    return SharedLocation(location, table.index_id, history, start, (location.rsplit("/", 1)[-1],))


def table_of(location: SharedLocation) -> Table:
    return Table(
        "t", "s", "h", location.location, history_shared=True, start_version=location.start_version
    )


def index(index_url: Path, *locations: SharedLocation) -> list[TableResult]:
    return index_tables(lambda: spark_session("local[2]"), locations, str(index_url), OPTIONS)


@pytest.fixture(autouse=True)
def tiny_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MIN_TAIL_ROWS", 6)
    monkeypatch.setattr(plan, "SEGMENT_ROWS", 4)


class History:
    """A random Delta log: adds, removes, files that come back, deletion vectors, renames."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.log = folder / "_delta_log"
        self.log.mkdir(parents=True)
        self.live: dict[str, str | None] = {}
        self.number = 0
        self.partitioned = self.random.random() < 0.5
        for version in range(self.random.randint(1, 14)):
            actions = list(self.commit(version))
            lines = "".join(json.dumps(action) + "\n" for action in actions)
            (self.log / f"{version:020}.json").write_text(lines)

    def metadata(self) -> dict[str, Any]:
        extra = self.random.randint(0, 3)
        names = ["id", "part", *(f"c{number}" for number in range(extra))]
        fields = [
            {"name": n, "type": "long" if n == "id" else "string", "nullable": True, "metadata": {}}
            for n in names
        ]
        return {
            "metaData": {
                "id": "m",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": ["part"] if self.partitioned else [],
                "configuration": {"delta.enableDeletionVectors": "true"},
            }
        }

    def commit(self, version: int) -> Iterator[dict[str, Any]]:
        yield {"commitInfo": {"operation": f"OP {version}"}}
        if version == 0:
            features = ["deletionVectors"]
            yield {
                "protocol": {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": features,
                    "writerFeatures": features,
                }
            }
        if version == 0 or self.random.random() < 0.2:
            yield self.metadata()
        touched: set[str] = set()
        for path in [p for p in self.live if self.random.random() < 0.25]:
            touched.add(path)
            yield {"remove": self.file(path) | {"deletionTimestamp": version}}
            if self.random.random() < 0.5:  # the same file with another deletion vector
                self.live[path] = self.vector()
                yield {"add": self.file(path)}
            else:
                del self.live[path]
        for _ in range(self.random.choice([0, 1, 2, 2, 9])):
            gone = [f"f{n}" for n in range(self.number) if f"f{n}" not in self.live]
            again = [path for path in gone if path not in touched]
            if again and self.random.random() < 0.3:
                path = self.random.choice(again)
            else:
                path = f"f{self.number}"
                self.number += 1
            if path in self.live or path in touched:
                continue
            self.live[path] = None
            yield {"add": self.file(path)}
        if self.random.random() < 0.2:
            yield {"cdc": {"path": f"cdc{version}", "partitionValues": {}, "size": 1}}

    def vector(self) -> str:
        return "ab^-aqEH.-t@S}K{vb[*" + uuid.UUID(int=self.random.getrandbits(128)).hex[:4]

    def file(self, path: str) -> dict[str, Any]:
        action: dict[str, Any] = {
            "path": path,
            "partitionValues": {"part": path[-1]} if self.partitioned else {},
            "size": len(path) * 10,
            "modificationTime": 0,
            "dataChange": True,
        }
        if path[-1] != "7":
            number = int(path[1:])
            action["stats"] = json.dumps(
                {"numRecords": 10, "minValues": {"id": number}, "maxValues": {"id": number + 5}}
            )
        if self.live.get(path) is not None:
            action["deletionVector"] = {
                "storageType": "u",
                "pathOrInlineDv": self.live[path],
                "offset": 1,
                "sizeInBytes": 4,
                "cardinality": 2,
            }
        return action


def check_every_version(index_url: Path, location: SharedLocation) -> int:
    """Compares all versions that the head covers with the replay; how many there are."""
    store = LocalObjectStore(index_url)
    reader = ManifestReader(store)
    head = reader.head(location.index_id)
    assert head is not None
    log = open_store(location.location, OPTIONS)
    listing = list_log(log)
    for version in range(head.epochs[0].first, head.version + 1):
        want = replay(log, version, listing)
        snapshot = snapshot_at(reader, table_of(location), version, None)
        selection = select(reader, snapshot, None, None)
        paths: list[str] = []
        for pick in selection.picks:
            [batch] = reader.render_batches(
                head.table_id, snapshot.epoch.base, pick.part, [pick.render]
            )
            paths += (batch if pick.rows is None else batch.take(pick.rows))["path"].to_pylist()
        for rows in selection.tail:
            paths += rows["path"].to_pylist()
        assert sorted(paths) == sorted(want.files["path"].to_pylist()), (location.names, version)
        totals = snapshot.totals
        vectors = want.files["dv_storage_type"]
        assert totals.files == want.files.num_rows
        assert totals.bytes == sum(want.files["size"].to_pylist())
        assert totals.deletion_vectors == len(vectors) - vectors.null_count
        stats = [json.loads(text or "{}") for text in want.files["stats"].to_pylist()]
        counts = [each.get("numRecords") for each in stats]
        if None not in counts:
            assert totals.records == sum(counts)
        elif not listing.checkpoints:  # which may lack what the commits before them told
            assert totals.records is None
        assert snapshot.change.metadata == want.metadata
        assert snapshot.change.protocol == want.protocol
    return head.version + 1 - head.epochs[0].first


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[SharedLocation]:
    folder = tmp_path_factory.mktemp("histories")
    for seed in range(HISTORIES):
        History(folder / f"table{seed}", seed)
    return [shared(f"file://{folder}/table{seed}") for seed in range(HISTORIES)]


def test_random_histories_equal_their_replay(
    histories: list[SharedLocation], tmp_path: Path
) -> None:
    results = index(tmp_path, *histories)
    assert {result.outcome for result in results} == {Outcome.INDEXED}
    assert max(result.epochs for result in results) >= 3
    assert sum(check_every_version(tmp_path, location) for location in histories) > HISTORIES
    again = index_tables(no_spark, histories, str(tmp_path), OPTIONS)
    assert {result.outcome for result in again} == {Outcome.UNCHANGED}


def no_spark() -> Any:
    raise AssertionError("nothing has changed: Spark must not start")


def test_golden_tables_equal_their_replay(golden: Path, tmp_path: Path) -> None:
    """Every form of checkpoint, with epochs and segments cut small."""
    folders = sorted(path.parent for path in golden.rglob("_delta_log"))
    locations = [shared(folder.as_uri()) for folder in folders]
    results = index(tmp_path, *locations)
    refused = {result.table.location for result in results if result.outcome is Outcome.REFUSED}
    versions = 0
    for location in locations:
        if location.location in refused:
            with pytest.raises(DeltaLogError):
                replay(open_store(location.location, OPTIONS))
        else:
            versions += check_every_version(tmp_path, location)
    assert versions > 800
    assert len(refused) < 30


def test_without_shared_history_only_the_latest_version_is_kept(
    histories: list[SharedLocation], tmp_path: Path
) -> None:
    chosen = max(histories, key=lambda location: len(list_files(location)))
    latest = len(list_files(chosen)) - 1
    alone = dataclasses.replace(chosen, history_shared=False)
    since = dataclasses.replace(histories[0], start_version=len(list_files(histories[0])) - 1)
    index(tmp_path, alone, since)
    for location, first in ((alone, latest), (since, since.start_version)):
        head = ManifestReader(LocalObjectStore(tmp_path)).head(location.index_id)
        assert head is not None
        assert head.epochs[0].first == first
        check_every_version(tmp_path, location)


def list_files(location: SharedLocation) -> list[Path]:
    return sorted((Path(location.location.removeprefix("file://")) / "_delta_log").iterdir())


def test_a_broken_table_stops_no_other_and_mends(tmp_path: Path) -> None:
    good, bad = (shared(f"file://{tmp_path}/{name}") for name in ("good", "bad"))
    History(tmp_path / "good", 1)
    History(tmp_path / "bad", 2)
    commit = list_files(bad)[0]
    whole = commit.read_text()
    commit.write_text("{\n" + whole)
    first = index(tmp_path / "index", bad, good)
    assert [result.outcome for result in first] == [Outcome.REFUSED, Outcome.INDEXED]
    assert "version 0" in (first[0].cause or "")
    commit.write_text(whole)
    second = index(tmp_path / "index", bad, good)
    assert [result.outcome for result in second] == [Outcome.INDEXED, Outcome.UNCHANGED]
    check_every_version(tmp_path / "index", bad)


def test_a_new_commit_is_indexed_and_a_newer_head_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = shared(f"file://{tmp_path}/table")
    history = History(tmp_path / "table", 3)
    index(tmp_path / "index", location)
    version = len(list_files(location))
    lines = "".join(json.dumps(action) + "\n" for action in history.commit(version))
    (history.log / f"{version:020}.json").write_text(lines)
    [result] = index(tmp_path / "index", location)
    assert (result.outcome, result.version) == (Outcome.INDEXED, version)
    check_every_version(tmp_path / "index", location)

    # Another writer puts a newer head while this one works.
    (history.log / f"{version + 1:020}.json").write_text("")
    store = LocalObjectStore(tmp_path / "index")
    head, _ = read_head(store, location.index_id)
    assert head is not None
    newer = dataclasses.replace(head, version=version + 5)

    def overtake(*arguments: Any) -> Head:
        store.put(head_key(location.index_id), encode_head(newer))
        return assemble(*arguments)

    from headgate.indexer import pipeline

    assemble = pipeline._assemble
    monkeypatch.setattr(pipeline, "_assemble", overtake)
    [result] = index(tmp_path / "index", location)
    assert result.version == version + 5
    standing, _ = read_head(store, location.index_id)
    assert standing == newer
