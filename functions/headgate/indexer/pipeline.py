"""The full index of a catalog's tables, in one Spark job.

    catalog ──► list logs ──► survey (Spark) ──► plan ──► replay and write (Spark) ──► heads

A table that cannot be served gets a head that says so, and stops no other table.
"""

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from headgate.catalog.catalog import SharedLocation
from headgate.errors import DeltaLogError, HeadgateError, ObjectNotFound, PreconditionFailed
from headgate.indexer.clustering import choose_column
from headgate.indexer.objects import (
    PART_COLUMNS,
    SEGMENT_COLUMNS,
    IndexTarget,
    part_writer,
    segment_writer,
)
from headgate.indexer.plan import LogPlan, TablePlan, plan_log, plan_table
from headgate.indexer.replay import (
    TableReplay,
    base_rows,
    lifetimes,
    read_actions,
    tail_rows,
    totals_changes,
    untouched,
)
from headgate.indexer.survey import LogSurvey, survey_logs
from headgate.log.listing import list_log
from headgate.manifest.actions import ACTIONS
from headgate.manifest.columns import indexed_columns
from headgate.manifest.head import (
    Base,
    Epoch,
    Head,
    Refusal,
    Segment,
    Totals,
    commits_key,
    decode_head,
    encode_head,
    files_key,
    head_key,
    zones_key,
)
from headgate.manifest.rows import RowBuilder
from headgate.manifest.write import (
    COMMITS,
    PART_FILES,
    encode_batches,
    encode_segment,
    encode_zones,
)
from headgate.storage.base import ObjectStore
from headgate.storage.locate import open_store
from headgate.storage.options import StorageOptions

logger = logging.getLogger(__name__)


class Outcome(StrEnum):
    INDEXED = "indexed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TableResult:
    """What became of one table; `cause` where it is refused."""

    table: SharedLocation
    outcome: Outcome
    version: int | None
    files: int = 0
    epochs: int = 0
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    table: SharedLocation
    log: LogPlan
    head_tag: str | None


@dataclass(frozen=True, slots=True)
class _Running:
    """Totals on their way through the versions, with how many files tell no row count."""

    files: int
    bytes: int
    records: int
    unknown: int
    vectors: int

    def totals(self) -> Totals:
        records = None if self.unknown else self.records
        return Totals(self.files, self.bytes, records, self.vectors)

    def plus(self, change: Any) -> "_Running":
        return _Running(
            self.files + change["files"],
            self.bytes + change["bytes"],
            self.records + change["records"],
            self.unknown + change["unknown"],
            self.vectors + change["vectors"],
        )


def index_tables(
    session: Callable[[], SparkSession],
    tables: Sequence[SharedLocation],
    index_url: str,
    options: StorageOptions,
    progress: Callable[[str], None] = lambda step: None,
) -> list[TableResult]:
    """Indexes `tables` below `index_url`; tables whose log has not changed cost one listing.

    `session` is asked for Spark only if there is work. `progress` is told each step. Results are
    in the order of `tables`. Raises StorageError where the index itself cannot be written.
    """
    index = open_store(index_url, options)
    results: dict[str, TableResult] = {}
    work: list[_Work] = []
    progress("listing logs")
    for table in tables:
        planned = _list(index, table, options)
        if isinstance(planned, TableResult):
            results[table.location] = planned
        else:
            work.append(planned)
    if work:
        progress(f"surveying {len(work)} logs")
        spark = session()
        surveys = survey_logs(spark, [(w.table.location, w.log) for w in work], options)
        replays: list[tuple[_Work, TableReplay]] = []
        for item, survey in zip(work, surveys, strict=True):
            try:
                replays.append((item, _replay_of(item, survey)))
            except HeadgateError as error:
                results[item.table.location] = _refuse(index, item.table, error, item.head_tag)
        if replays:
            for result in _build(spark, index, index_url, replays, options, progress):
                results[result.table.location] = result
    return [results[table.location] for table in tables]


def _list(
    index: ObjectStore, table: SharedLocation, options: StorageOptions
) -> TableResult | _Work:
    """What there is to do, or the result where nothing is."""
    head, tag = read_head(index, table.index_id)
    try:
        listing = list_log(open_store(table.location, options))
        log = plan_log(listing, history=table.history_shared, start_version=table.start_version)
    except HeadgateError as error:
        return _refuse(index, table, error, tag)
    if head is not None and head.state == log.state:
        if head.refusal is not None:
            return TableResult(table, Outcome.REFUSED, head.version, cause=head.refusal.cause)
        return TableResult(
            table, Outcome.UNCHANGED, head.version, head.totals.files, len(head.epochs)
        )
    return _Work(table, log, tag)


def read_head(index: ObjectStore, table_id: str) -> tuple[Head | None, str | None]:
    """A table's head and its tag; no head where there is none, or one of another format."""
    try:
        body, tag = index.get_tagged(head_key(table_id))
    except ObjectNotFound:
        return None, None
    try:
        return decode_head(body), tag
    except HeadgateError:
        logger.warning("the head of table %s cannot be read and will be replaced", table_id)
        return None, tag


def _replay_of(item: _Work, survey: LogSurvey) -> TableReplay:
    if survey.error is not None:
        raise survey.error
    commits = [survey.commits[commit.version] for commit in item.log.commits]
    opening = None if item.log.opening is None else survey.commits[item.log.opening.version]
    plan = plan_table(item.log, survey.checkpoint, commits, opening)
    columns = indexed_columns(plan.metadata_at(item.log.latest))
    cluster = choose_column(pa.array(survey.stats_sample, pa.string()), columns)
    tasks = () if survey.checkpoint is None else survey.checkpoint.tasks
    return TableReplay(item.table.location, item.log, plan, tasks, cluster)


def _build(
    spark: SparkSession,
    index: ObjectStore,
    index_url: str,
    work: Sequence[tuple[_Work, TableReplay]],
    options: StorageOptions,
    progress: Callable[[str], None],
) -> list[TableResult]:
    replays = [replay for _, replay in work]
    target = IndexTarget(
        index_url,
        options,
        [item.table.index_id for item, _ in work],
        [[f"{e.first:020}-{secrets.token_hex(8)}" for e in r.plan.epochs] for r in replays],
    )
    tables = spark.sparkContext.broadcast(replays)
    commit_rows = sum(replay.plan.commit_rows for replay in replays)
    # As few as keep all cores busy: a table cut in two needs two reads where one would do.
    base_rows_planned = sum(replay.plan.base_rows for replay in replays)
    partitions = max(
        min(spark.sparkContext.defaultParallelism, len(replays)),
        -(-base_rows_planned // (2 * PART_FILES)),
    )
    commits = read_actions(spark, tables, options, checkpoints=False)
    commits = commits.persist(StorageLevel.MEMORY_AND_DISK)
    checkpoints = read_actions(spark, tables, options, checkpoints=True)
    # Read by two joins, and by the sampling of a range partitioning. On disk: as rows on the heap
    # they would take several times what the checkpoints do.
    checkpoints = checkpoints.persist(StorageLevel.DISK_ONLY)
    touched = lifetimes(checkpoints, commits, commit_rows).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        progress("writing tails")
        segments = (
            tail_rows(commits).mapInArrow(segment_writer(tables, target), SEGMENT_COLUMNS).collect()
        )
        progress("summing versions")
        changes = totals_changes(touched).collect()
        progress("writing bases")
        files = touched.unionByName(untouched(checkpoints, commits, commit_rows))
        parts = (
            base_rows(spark, files, replays, partitions)
            .mapInArrow(part_writer(tables, target), PART_COLUMNS)
            .collect()
        )
    finally:
        touched.unpersist()
        checkpoints.unpersist()
        commits.unpersist()
    progress("writing heads")
    results = []
    for number, (item, replay) in enumerate(work):
        head = _assemble(
            index,
            item,
            replay,
            target.base_ids[number],
            [row for row in parts if row["table"] == number],
            {row["segment"]: row for row in segments if row["table"] == number},
            {row["version"]: row for row in changes if row["table"] == number},
        )
        results.append(_publish(index, item, head))
    return results


def _assemble(
    index: ObjectStore,
    item: _Work,
    replay: TableReplay,
    base_ids: Sequence[str],
    parts: Sequence[Any],
    segments: dict[int, Any],
    changes: dict[int, Any],
) -> Head:
    """Writes zone maps and commit rows, and names every object of the table in a head."""
    plan = replay.plan
    table_id = item.table.index_id
    epochs: list[Epoch] = []
    running = _Running(0, 0, 0, 0, 0)
    at_version: dict[int, Totals] = {}
    for place, epoch in enumerate(plan.epochs):
        of_epoch = sorted((p for p in parts if p["epoch"] == place), key=lambda p: p["place"])
        running = _Running(0, 0, 0, 0, 0)
        for part in of_epoch:
            running = running.plus(part)
        base_totals = running.totals()
        at_version[epoch.first] = base_totals
        columns = indexed_columns(plan.metadata_at(epoch.first))
        zones = [pa.ipc.open_file(part["zones"]).get_batch(0) for part in of_epoch]
        index.put(zones_key(table_id, base_ids[place]), encode_zones(zones, columns))
        for version in range(epoch.first + 1, epoch.last + 1):
            if version in changes:
                running = running.plus(changes[version])
            at_version[version] = running.totals()
        epochs.append(
            Epoch(
                epoch.first,
                epoch.last,
                plan.timestamps[epoch.first],
                Base(base_ids[place], tuple(part["part"] for part in of_epoch), base_totals),
                (),
            )
        )
    named: dict[int, list[Segment]] = {}
    for number, segment in enumerate(plan.segments):
        found = segments.get(number)
        identity = found["id"] if found else f"{segment.first:020}-{secrets.token_hex(8)}"
        if found is None:  # commits without file actions
            index.put(files_key(table_id, identity), _no_changes(replay, segment.last))
        rows = found["rows"] if found else 0
        named.setdefault(segment.epoch, []).append(
            Segment(identity, segment.first, segment.last, rows)
        )
        versions = range(segment.first, segment.last + 1) if segment.ordinal == 0 else ()
        index.put(
            commits_key(table_id, identity),
            encode_batches(
                [
                    pa.RecordBatch.from_pylist(
                        [_commit_row(plan, version, at_version[version]) for version in versions],
                        COMMITS,
                    )
                ]
            ),
        )
    latest = item.log.latest
    return Head(
        table_id=table_id,
        location=item.table.location,
        version=latest,
        timestamp_ms=plan.timestamps[latest],
        totals=at_version[latest],
        history=plan.history,
        epochs=tuple(
            replace(epoch, segments=tuple(named.get(place, ())))
            for place, epoch in enumerate(epochs)
        ),
        state=item.log.state,
        indexed_at_ms=int(time.time() * 1000),
    )


def _no_changes(replay: TableReplay, version: int) -> bytes:
    builder = RowBuilder(replay.plan.metadata_at(version))
    return encode_segment([builder.changes(pa.RecordBatch.from_pylist([], ACTIONS))])


def _commit_row(plan: TablePlan, version: int, totals: Totals) -> dict[str, Any]:
    return {
        "version": version,
        "timestamp": plan.timestamps[version],
        "operation": plan.operations.get(version),
        "schema_change": any(change.version == version for change in plan.history),
        "files": totals.files,
        "bytes": totals.bytes,
        "records": totals.records,
        "deletion_vectors": totals.deletion_vectors,
    }


def _publish(index: ObjectStore, item: _Work, head: Head) -> TableResult:
    """Puts the head in place of the one that was read, or gives way to a newer one."""
    body = encode_head(head)
    key = head_key(head.table_id)
    try:
        if item.head_tag is None:
            index.put_if_absent(key, body)
        else:
            index.put_if_match(key, body, item.head_tag)
    except PreconditionFailed:
        newer, tag = read_head(index, head.table_id)
        if newer is None or newer.version <= head.version:
            if tag is None:
                raise
            index.put_if_match(key, body, tag)
        else:
            head = newer
    return TableResult(
        item.table, Outcome.INDEXED, head.version, head.totals.files, len(head.epochs)
    )


def _refuse(
    index: ObjectStore, table: SharedLocation, error: HeadgateError, tag: str | None
) -> TableResult:
    """Records why a table cannot be served, so that its recipients are told."""
    if isinstance(error, DeltaLogError):
        refusal = Refusal(error.cause, error.version)
    else:  # storage failed: an index that stands keeps answering
        logger.warning("table %s: %s", table.names[0], error)
        return TableResult(table, Outcome.REFUSED, None, cause=str(error))
    logger.info("table %s is refused: %s", table.names[0], error)
    head = Head(
        table_id=table.index_id,
        location=table.location,
        version=-1 if error.version is None else error.version,
        timestamp_ms=0,
        totals=Totals(0, 0, 0, 0),
        history=(),
        epochs=(),
        state="",
        indexed_at_ms=int(time.time() * 1000),
        refusal=refusal,
    )
    key = head_key(table.index_id)
    if tag is None:
        index.put_if_absent(key, encode_head(head))
    else:
        index.put_if_match(key, encode_head(head), tag)
    return TableResult(table, Outcome.REFUSED, error.version, cause=str(error))
