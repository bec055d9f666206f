"""Every golden table's log, against what other readers saw and what its status promises."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from headgate.errors import DeltaLogError
from headgate.log.commits import read_commit
from headgate.log.listing import list_log
from headgate.log.replay import replay
from headgate.log.segment import CommitFile, reconstructable
from headgate.log.timestamps import commit_timestamps, in_commit_timestamp
from tests.log.builders import store_at

# Logs that Headgate refuses though their data files exist, and why.
REFUSED_WITH_FILES = {
    "delta-kernel-java/catalog-owned-preview": "unsupported reader features: catalogManaged",
    "delta-rs-err/table_f": "unsupported reader features: catalogOwned",
    "delta-rs/simple_table_features": "reader version 5 is not supported",
    "kernel-uc/catalog_managed_0": "unsupported reader features: catalogManaged",
}
# Other readers compare absolute paths by their spelling and see one live file too many.
WRONG_ELSEWHERE = {
    f"kernel-golden/canonicalized-paths-{name}/delta"
    for name in ("normal-b", "special-a", "special-b")
}
CAUSES = (
    "not a Delta table",
    "the metadata has no schema",
    "the log has no protocol action",
    "the log has no metaData action",
    "the log has a gap",
)


def statuses(golden: Path) -> dict[str, str]:
    """Each table's status letter in INDEX.md; only tables that are there."""
    found = {}
    for line in (golden / "INDEX.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 10 and len(cells[8]) == 1 and (golden / cells[1] / "_delta_log").is_dir():
            found[cells[1]] = cells[8]
    return found


@pytest.fixture(scope="session")
def observed(golden: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((golden / "OBSERVED.json").read_text())
    return content


def test_live_files_at_every_version_that_was_observed(
    golden: Path, observed: dict[str, Any]
) -> None:
    compared, differences = 0, []
    for table, status in statuses(golden).items():
        if status == "N" or table in REFUSED_WITH_FILES or table in WRONG_ELSEWHERE:
            continue
        store = store_at(golden / table)
        listing = list_log(store)
        snapshot = replay(store, listing=listing)
        seen = observed.get(table)
        if seen is None:
            continue
        wanted = {int(v): o["files"] for v, o in seen["versions"].items() if "files" in o}
        wanted[seen["latest"]["version"]] = seen["latest"]["files"]
        assert snapshot.version == seen["latest"]["version"], table
        for version, files in wanted.items():
            found = replay(store, version, listing).files
            compared += 1
            if found.num_rows != files or version not in reconstructable(listing):
                differences.append((table, version, files, found.num_rows))
    assert differences == []
    assert compared > 800


def test_invalid_logs_are_refused_with_cause_and_version(golden: Path) -> None:
    refused = [table for table, status in statuses(golden).items() if status == "N"]
    assert len(refused) > 15
    for table in refused:
        with pytest.raises(DeltaLogError) as raised:
            replay(store_at(golden / table))
        assert raised.value.cause.startswith(CAUSES), table
        empty = raised.value.cause.startswith("not a Delta table")
        assert empty or f"at version {raised.value.version}" in str(raised.value), table


@pytest.mark.parametrize("table", REFUSED_WITH_FILES)
def test_unsupported_logs_are_refused(golden: Path, table: str) -> None:
    with pytest.raises(DeltaLogError) as raised:
        replay(store_at(golden / table))
    assert raised.value.cause == REFUSED_WITH_FILES[table]


@pytest.mark.parametrize("table", sorted(WRONG_ELSEWHERE))
def test_absolute_paths_are_one_file_however_spelt(golden: Path, table: str) -> None:
    store = store_at(golden / table)
    assert replay(store, 0).files.num_rows == 1
    assert replay(store, 1).files.num_rows == 0


def test_a_version_before_the_schema_is_refused_and_the_next_one_is_not(golden: Path) -> None:
    store = store_at(golden / "delta-rs/delta-live-table")
    with pytest.raises(DeltaLogError, match="no schema at version 0"):
        replay(store, 0)
    assert replay(store, 1).files.num_rows == 0


def test_a_cleaned_log_begins_at_its_checkpoint(golden: Path) -> None:
    listing = list_log(store_at(golden / "delta-rs/checkpoint_with_partitions"))
    assert reconstructable(listing) == range(2, 3)
    listing = list_log(store_at(golden / "trino/deltalake/v2_checkpoint_json_using_temporal"))
    assert reconstructable(listing).start == 2


def test_special_characters_decode_to_names_that_exist(golden: Path) -> None:
    root = golden / "kernel-golden/data-reader-escaped-chars/delta"
    paths = replay(store_at(root)).files["path"].to_pylist()
    assert any("%" in path for path in paths)
    assert all((root / unquote(path)).is_file() for path in paths)


def test_struct_statistics_equal_the_json_ones_where_a_checkpoint_has_both(golden: Path) -> None:
    """The commits' own JSON is the reference; Spark writes timestamps to the millisecond there."""
    compared = 0
    for table in (
        "trino/databricks73/pruning/parquet_struct_statistics",
        "delta-rs/delta-1.2.1-only-struct-stats",
        "kernel-data/v1-multi-part-struct-stats-only",
        "kernel-data/v2-json-sidecars-struct-stats-only",
        "kernel-data/v2-classic-parquet-struct-stats-only",
    ):
        store = store_at(golden / table)
        listing = list_log(store)
        assert listing.checkpoints, table
        version = listing.checkpoints[-1].version
        struct = {f["key"]: f["stats"] for f in replay(store, version, listing).files.to_pylist()}
        plain = type(listing)(listing.commits, (), ())
        for file in replay(store, version, plain).files.to_pylist():
            if file["stats"] is None:
                continue
            wanted, found = json.loads(file["stats"]), json.loads(struct[file["key"]])
            assert found["numRecords"] == wanted["numRecords"], table
            for part in ("minValues", "maxValues", "nullCount"):
                for name, value in found.get(part, {}).items():
                    other = wanted[part][name]
                    if isinstance(value, str):
                        assert value[:19] == str(other)[:19], (table, name)
                    elif not isinstance(value, dict):
                        assert value == pytest.approx(other, rel=1e-6), (table, name)
                    compared += 1
    assert compared > 100


@pytest.mark.parametrize("table", ["delta-rs/cdc_ict_table", "trino/deltalake/uniform_hudi"])
def test_in_commit_timestamps_of_real_tables(golden: Path, table: str) -> None:
    store = store_at(golden / table)
    listing = list_log(store)
    for version, file in listing.commits.items():
        commit = read_commit(store, CommitFile(version, file))
        metadata = replay(store, version, listing).metadata
        own = in_commit_timestamp(commit, metadata)
        assert own == commit.in_commit_timestamp_ms
        assert commit_timestamps([(version, 1, own)]) == [own or 1]
        assert own is not None
