"""Generated logs are valid Delta logs, and hold what their summary says."""

import hashlib
import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from benchmarks.generate_log import LogSpec, LogSummary, generate


@pytest.fixture(scope="module")
def spec() -> LogSpec:
    return LogSpec(
        files=3_000,
        commits=8,
        adds_per_commit=6,
        removes_per_commit=3,
        vectors_per_commit=2,
        days=30,
        regions=9,
        vector_fraction=0.1,
        no_stats_fraction=0.05,
        tombstones=20,
        files_per_part=1_000,
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, spec: LogSpec) -> tuple[Path, LogSummary]:
    folder = tmp_path_factory.mktemp("orders")
    return folder, generate(folder, spec)


def test_another_reader_counts_the_same_files(table: tuple[Path, LogSummary]) -> None:
    folder, summary = table
    delta = deltalake.DeltaTable(str(folder))
    assert delta.version() == summary.last_version == 108
    assert len(delta.file_uris()) == summary.files_at_last
    delta.load_as_version(summary.first_version)
    assert len(delta.file_uris()) == summary.files_at_first == 3_000


def test_statistics_are_bounds_and_no_name_repeats(table: tuple[Path, LogSummary]) -> None:
    folder, _ = table
    adds = pa.table(deltalake.DeltaTable(str(folder)).get_add_actions(flatten=True))
    rows = adds.to_pylist()
    assert len({row["path"] for row in rows}) == len(rows)
    without = [row for row in rows if row["num_records"] is None]
    assert 0 < len(without) < 300
    for row in rows:
        if row["num_records"] is None:
            continue
        for name in ("order_id", "user_id", "event_time", "price", "total", "quantity", "sku"):
            assert row[f"min.{name}"] <= row[f"max.{name}"], name
        assert row["min.event_time"].date() == row["partition.date"]
        assert row["max.event_time"].date() == row["partition.date"]
        if row["null_count.note"] == row["num_records"]:
            assert row["min.note"] is None
        else:
            assert len(row["min.note"]) == 32
            assert row["max.note"].endswith("\x7f")


def test_commits_hold_every_kind_of_churn(table: tuple[Path, LogSummary], spec: LogSpec) -> None:
    folder, summary = table
    adds = removes = 0
    added: dict[str, int] = {}
    short_lived = 0
    for version in range(summary.first_version + 1, summary.last_version + 1):
        text = (folder / "_delta_log" / f"{version:020d}.json").read_text()
        actions = [json.loads(line) for line in text.splitlines()]
        replaced = {a["remove"]["path"] for a in actions if "remove" in a}
        removes += len(replaced)
        short_lived += len(replaced & added.keys())
        new = [a["add"] for a in actions if "add" in a]
        adds += len(new)
        vectors = [add for add in new if add["path"] in replaced]
        assert len(vectors) == spec.vectors_per_commit
        assert all(add["deletionVector"]["storageType"] == "u" for add in vectors)
        assert all(
            '"tightBounds":false' in add.get("stats", '"tightBounds":false') for add in vectors
        )
        added.update((add["path"], version) for add in new)
    assert (adds, removes) == (summary.adds, summary.removes)
    assert short_lived >= spec.commits - 1


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    def digest(folder: Path, seed: int) -> str:
        generate(folder, LogSpec(files=200, commits=2, days=5, tombstones=3, seed=seed))
        content = hashlib.sha256()
        for file in sorted((folder / "_delta_log").iterdir()):
            content.update(file.name.encode() + file.read_bytes())
        return content.hexdigest()

    assert digest(tmp_path / "a", 1) == digest(tmp_path / "b", 1) != digest(tmp_path / "c", 2)


def test_a_plain_table_needs_no_table_features(tmp_path: Path) -> None:
    generate(tmp_path, LogSpec(files=50, commits=1, vectors_per_commit=0, vector_fraction=0))
    delta = deltalake.DeltaTable(str(tmp_path))
    assert delta.protocol().min_reader_version == 1
    assert len(delta.file_uris()) == 55


def test_more_churn_than_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too many"):
        generate(tmp_path, LogSpec(files=10, commits=10))
