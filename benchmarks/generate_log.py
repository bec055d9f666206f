"""Generates Delta logs of any size: a checkpoint of N live files and K commits of churn after it.

The log is what Spark writes for a table of orders, partitioned by date (and region): statistics as
JSON on nine columns, data file names with UUIDs, a multi-part checkpoint, tombstones, deletion
vectors. No data file exists: queries list and sign files, they never open them. The same
arguments give the same log, byte for byte under the same versions of numpy and pyarrow.

    python -m benchmarks.generate_log OUT --files 1000000 --commits 100

Source: Delta protocol, "Checkpoints", "Add File and Remove File", "Per-file Statistics".
"""

import argparse
import datetime
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.checkpoint_rows import CHECKPOINT, add_array, column_batch, remove_array
from benchmarks.order_files import FileRows, file_rows, vector_ids

# Rows of the checkpoint held in memory at once, and of one Parquet row group.
CHUNK = 50_000
MS_PER_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class LogSpec:
    """What to generate. Fractions are of the files they speak of, from 0 to 1."""

    files: int  # live at the checkpoint
    commits: int = 100  # after the checkpoint
    adds_per_commit: int = 10
    removes_per_commit: int = 5
    vectors_per_commit: int = 1  # files that get a deletion vector in each commit
    days: int = 365  # partitions by date
    regions: int = 0  # partitions by region within each date; 0 leaves that column out
    rows_per_file: int = 50_000  # on average
    vector_fraction: float = 0.01  # of the checkpoint's files that hold a deletion vector
    no_stats_fraction: float = 0.0
    tombstones: int = 1_000  # removes kept in the checkpoint
    checkpoint_version: int = 100
    files_per_part: int = 250_000
    first_day: datetime.date = datetime.date(2024, 1, 1)
    seed: int = 1

    @property
    def deletion_vectors(self) -> bool:
        return self.vector_fraction > 0 or self.vectors_per_commit > 0

    @property
    def end_ms(self) -> int:
        """When the checkpoint was written: the end of the table's last day."""
        epoch_days = (self.first_day - datetime.date(1970, 1, 1)).days
        return (epoch_days + self.days) * MS_PER_DAY


@dataclass(frozen=True, slots=True)
class LogSummary:
    """What a reader of the log must find."""

    first_version: int  # the checkpoint's; nothing older can be read
    last_version: int
    files_at_first: int
    files_at_last: int
    adds: int  # add actions in the commits, those with new deletion vectors included
    removes: int
    log_bytes: int


def schema_string(spec: LogSpec) -> str:
    columns = [("date", "date")]
    if spec.regions:
        columns.append(("region", "string"))
    columns += [
        ("order_id", "long"),
        ("user_id", "long"),
        ("event_time", "timestamp"),
        ("price", "double"),
        ("total", "decimal(18,2)"),
        ("quantity", "integer"),
        ("sku", "string"),
        ("note", "string"),
        ("is_gift", "boolean"),
    ]
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns
    ]
    return _json({"type": "struct", "fields": fields})


def generate(table: Path, spec: LogSpec) -> LogSummary:
    """Writes `table/_delta_log`, replacing any that is there.

    Raises ValueError where the commits would remove more files than there are.
    """
    churned = spec.commits * (spec.removes_per_commit + spec.vectors_per_commit)
    if churned > spec.files:
        raise ValueError(f"{spec.commits} commits touch {churned} of {spec.files} files: too many")
    log = table / "_delta_log"
    if log.exists():
        shutil.rmtree(log)
    log.mkdir(parents=True)
    random = np.random.default_rng([spec.seed, 0])
    # Which files the commits touch, drawn first, so that only their rows are remembered.
    victims = random.choice(spec.files, churned, replace=False)
    remembered = _write_checkpoint(log, spec, np.sort(victims))
    touched = [remembered[int(index)] for index in victims]
    adds, removes = _write_commits(log, spec, touched)
    return LogSummary(
        first_version=spec.checkpoint_version,
        last_version=spec.checkpoint_version + spec.commits,
        files_at_first=spec.files,
        files_at_last=spec.files + adds - removes,
        adds=adds,
        removes=removes,
        log_bytes=sum(entry.stat().st_size for entry in log.iterdir()),
    )


def _rows(spec: LogSpec, start: int, count: int) -> FileRows:
    return file_rows(
        start=start,
        count=count,
        total=spec.files,
        days=spec.days,
        first_day=spec.first_day,
        regions=spec.regions,
        rows_per_file=spec.rows_per_file,
        vector_fraction=spec.vector_fraction,
        no_stats_fraction=spec.no_stats_fraction,
        tight_bounds=spec.deletion_vectors,
        seed=spec.seed,
    )


def _write_checkpoint(
    log: Path, spec: LogSpec, remember: "np.ndarray[Any, Any]"
) -> dict[int, dict[str, Any]]:
    """Writes the parts; the add actions of the files whose (sorted) numbers are in `remember`."""
    version = spec.checkpoint_version
    parts = -(-spec.files // spec.files_per_part) or 1
    per_part = -(-spec.files // parts)
    remembered: dict[int, dict[str, Any]] = {}
    names = []
    for part in range(parts):
        middle = f".{part + 1:010d}.{parts:010d}" if parts > 1 else ""
        names.append(log / f"{version:020d}.checkpoint{middle}.parquet")
        end = min((part + 1) * per_part, spec.files)
        with pq.ParquetWriter(names[-1], CHECKPOINT, compression="snappy") as writer:
            if part == 0:
                writer.write_batch(column_batch(protocol=[_protocol(spec)]))
                writer.write_batch(column_batch(metaData=[_metadata(spec)]))
                writer.write_batch(column_batch(txn=[_txn(spec)]))
                for batch in _tombstones(spec):
                    writer.write_batch(batch)
            for start in range(part * per_part, end, CHUNK):
                rows = _rows(spec, start, min(CHUNK, end - start))
                adds = add_array(rows)
                writer.write_batch(column_batch(add=adds), row_group_size=CHUNK)
                low, high = np.searchsorted(remember, [start, start + len(adds)])
                for index in remember[low:high]:
                    remembered[int(index)] = _action(adds[int(index) - start].as_py())
    # Spark keeps the commit that the checkpoint was made of.
    commit = log / f"{version:020d}.json"
    commit.write_text(_json({"commitInfo": _commit_info(spec, 0)}) + "\n")
    _stamp(commit, spec, 0)
    hint: dict[str, Any] = {
        "version": version,
        "size": spec.files + spec.tombstones + 3,
        "sizeInBytes": sum(name.stat().st_size for name in names),
        "numOfAddFiles": spec.files,
    }
    if parts > 1:
        hint["parts"] = parts
    (log / "_last_checkpoint").write_text(_json(hint))
    return remembered


def _tombstones(spec: LogSpec) -> Iterator[pa.RecordBatch]:
    """Removes of files that the checkpoint no longer holds."""
    if spec.tombstones == 0:
        return
    # Numbers past every live and every added file give names that no other file has.
    start = spec.files + spec.commits * spec.adds_per_commit
    rows = _rows(spec, start, spec.tombstones)
    yield column_batch(remove=remove_array(rows, spec.end_ms - 3_600_000))


def _write_commits(log: Path, spec: LogSpec, touched: list[dict[str, Any]]) -> tuple[int, int]:
    """Writes the commits after the checkpoint; the numbers of add and remove actions in them."""
    random = np.random.default_rng([spec.seed, 1])
    total = spec.commits * spec.adds_per_commit
    fresh = _actions(spec, spec.files, total)
    queue = iter(touched)
    adds = removes = 0
    young: list[dict[str, Any]] = []  # added by the commit before
    for number in range(1, spec.commits + 1):
        at_ms = _commit_ms(spec, number)
        lines: list[dict[str, Any]] = [{"commitInfo": _commit_info(spec, number)}]
        for index in range(spec.removes_per_commit):
            # One in each commit lives for one version only: no checkpoint will ever hold it.
            victim = young.pop() if index == 0 and young else next(queue)
            lines.append({"remove": _removal(victim, at_ms)})
            removes += 1
        young = []
        for _ in range(spec.vectors_per_commit):
            add = next(queue)
            lines.append({"remove": _removal(add, at_ms)})
            lines.append({"add": _with_vector(add, random)})
            removes += 1
            adds += 1
        for _ in range(spec.adds_per_commit):
            add = {**next(fresh), "modificationTime": at_ms, "dataChange": True}
            lines.append({"add": add})
            young.append(add)
            adds += 1
        commit = log / f"{spec.checkpoint_version + number:020d}.json"
        commit.write_text("".join(_json(line) + "\n" for line in lines))
        _stamp(commit, spec, number)
    return adds, removes


def _actions(spec: LogSpec, start: int, count: int) -> Iterator[dict[str, Any]]:
    for offset in range(0, count, CHUNK):
        rows = _rows(spec, start + offset, min(CHUNK, count - offset))
        for add in add_array(rows):
            yield _action(add.as_py())


def _action(add: Mapping[str, Any]) -> dict[str, Any]:
    """An add of the checkpoint as JSON commits write it: nulls left out, maps as objects."""
    action = {key: value for key, value in add.items() if value is not None}
    action["partitionValues"] = dict(add["partitionValues"])
    if "deletionVector" in action:
        vector = action["deletionVector"]
        action["deletionVector"] = {k: v for k, v in vector.items() if v is not None}
    return action


def _removal(add: Mapping[str, Any], at_ms: int) -> dict[str, Any]:
    action = {
        "path": add["path"],
        "deletionTimestamp": at_ms,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": add["partitionValues"],
        "size": add["size"],
    }
    if "deletionVector" in add:
        action["deletionVector"] = add["deletionVector"]
    return action


def _with_vector(add: Mapping[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """The same file after a DELETE: a new vector, and bounds that are no longer tight."""
    action = {**add, "dataChange": True}
    old = add.get("deletionVector", {})
    action["deletionVector"] = {
        "storageType": "u",
        "pathOrInlineDv": vector_ids(random, 1)[0].decode(),
        "offset": 1,
        "sizeInBytes": 44,
        "cardinality": old.get("cardinality", 0) + int(random.integers(1, 100)),
    }
    if "stats" in action:
        action["stats"] = action["stats"].replace('"tightBounds":true', '"tightBounds":false')
    return action


def _protocol(spec: LogSpec) -> dict[str, Any]:
    if not spec.deletion_vectors:
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    features = ["deletionVectors"]
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
        "writerFeatures": [*features, "invariants", "appendOnly"],
    }


def _metadata(spec: LogSpec) -> dict[str, Any]:
    configuration = {"delta.enableDeletionVectors": "true"} if spec.deletion_vectors else {}
    return {
        "id": "6f0f1ab9-1c7e-4c4c-9d52-9a3a0f1b6f3d",
        "format": {"provider": "parquet", "options": []},
        "schemaString": schema_string(spec),
        "partitionColumns": ["date", "region"] if spec.regions else ["date"],
        "configuration": list(configuration.items()),
        "createdTime": spec.end_ms - spec.days * MS_PER_DAY,
    }


def _txn(spec: LogSpec) -> dict[str, Any]:
    return {"appId": "orders-stream", "version": 42, "lastUpdated": spec.end_ms}


def _commit_ms(spec: LogSpec, number: int) -> int:
    return spec.end_ms + number * 60_000


def _commit_info(spec: LogSpec, number: int) -> dict[str, Any]:
    return {
        "timestamp": _commit_ms(spec, number),
        "operation": "MERGE",
        "operationParameters": {"predicate": '["(t.order_id = s.order_id)"]'},
        "readVersion": spec.checkpoint_version + number - 1,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {
            "numTargetFilesAdded": str(spec.adds_per_commit),
            "numTargetFilesRemoved": str(spec.removes_per_commit),
        },
        "engineInfo": "Apache-Spark/4.0.0 Delta-Lake/4.0.0",
        "txnId": f"00000000-0000-4000-8000-{number:012d}",
    }


def _stamp(commit: Path, spec: LogSpec, number: int) -> None:
    """Gives a commit file the modification time that its version's timestamp is read from."""
    at_ns = _commit_ms(spec, number) * 1_000_000
    os.utime(commit, ns=(at_ns, at_ns))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate a Delta log without data files.")
    parser.add_argument("table", type=Path, help="the table's folder; its _delta_log is replaced")
    defaults = LogSpec(files=0)
    parser.add_argument("--files", type=int, required=True)
    for name, kind in (
        ("commits", int),
        ("adds_per_commit", int),
        ("removes_per_commit", int),
        ("vectors_per_commit", int),
        ("days", int),
        ("regions", int),
        ("rows_per_file", int),
        ("vector_fraction", float),
        ("no_stats_fraction", float),
        ("tombstones", int),
        ("checkpoint_version", int),
        ("files_per_part", int),
        ("seed", int),
    ):
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(
            flag, type=kind, default=getattr(defaults, name), help="default: %(default)s"
        )
    arguments = vars(parser.parse_args())
    table = arguments.pop("table")
    started = time.perf_counter()
    summary = generate(table, LogSpec(**arguments))
    print(json.dumps({**asdict(summary), "seconds": round(time.perf_counter() - started, 1)}))


if __name__ == "__main__":
    main()
