"""Second pass, on Spark: from log files to live files of each epoch, and to tail rows.

    log files ──read_actions──► actions ─┬─tail_rows──► rows of tail segments
                                         └─lifetimes──► [version, end) of each file
                                                            │
                                              base_rows ◄───┴───► totals_changes

A checkpoint is already reconciled: only files that later commits touch pass through the window.
Source: Delta protocol, "Action Reconciliation".
"""

import pickle
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from headgate.indexer.clustering import cluster_keys
from headgate.indexer.plan import LogPlan, TablePlan
from headgate.log.checkpoints import CheckpointTask, read_checkpoint_task
from headgate.log.commits import read_commit
from headgate.log.segment import CommitFile
from headgate.manifest.actions import ACTIONS
from headgate.manifest.columns import IndexedColumn, indexed_columns
from headgate.storage.locate import open_store
from headgate.storage.options import StorageOptions

# Commits that one read task parses.
_COMMITS_A_TASK = 64
_NEVER = 2**62  # the end of a file that is still live
# Distinct keys in commits up to which they are sent to every executor rather than shuffled.
_BROADCAST_KEYS = 4_000_000

# ACTIONS as Spark columns, and what reading adds: the table's number, its segment (null outside
# the tail), whether the row takes part in state, whether it is from a checkpoint, and cluster key.
ACTION_COLUMNS = (
    "version bigint, ordinal int, action string, key binary, path string,"
    " partition_values map<string,string>, size bigint, modification_time bigint,"
    " deletion_timestamp bigint, data_change boolean, stats string, dv_storage_type string,"
    " dv_path_or_inline string, dv_offset int, dv_size int, dv_cardinality bigint,"
    " base_row_id bigint, default_row_commit_version bigint"
)
_READ_COLUMNS = f"table int, segment int, state boolean, cluster binary, {ACTION_COLUMNS}"


@dataclass(frozen=True, slots=True)
class TableReplay:
    """What executors need to know of one table."""

    location: str
    log: LogPlan
    plan: TablePlan
    checkpoint_tasks: tuple[CheckpointTask, ...]
    cluster_column: IndexedColumn | None


@dataclass(frozen=True, slots=True)
class _Read:
    table: int
    files: tuple[CommitFile, ...] | CheckpointTask


def read_actions(
    spark: SparkSession,
    tables: Broadcast[Sequence[TableReplay]],
    options: StorageOptions,
    *,
    checkpoints: bool,
) -> DataFrame:
    """The actions of all tables' checkpoints, or of all their commits (schema `_READ_COLUMNS`)."""
    reads: list[_Read] = []
    for number, table in enumerate(tables.value):
        if checkpoints:
            reads += [_Read(number, task) for task in table.checkpoint_tasks]
        else:
            opening = table.log.opening
            commits = [*([opening] if opening else ()), *table.log.commits]
            for start in range(0, len(commits), _COMMITS_A_TASK):
                reads.append(_Read(number, tuple(commits[start : start + _COMMITS_A_TASK])))
    slices = max(1, min(len(reads), spark.sparkContext.defaultParallelism * 4))
    rows = spark.sparkContext.parallelize([(pickle.dumps(read),) for read in reads], slices)
    frame = spark.createDataFrame(rows, "read binary")

    def read_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for pickled in batch.column("read").to_pylist():
                read = pickle.loads(pickled)  # noqa: S301 - pickled by the driver, above
                yield from _read(read, tables.value[read.table], options)

    return frame.mapInArrow(read_all, _READ_COLUMNS)


def _read(read: _Read, table: TableReplay, options: StorageOptions) -> Iterator[pa.RecordBatch]:
    store = open_store(table.location, options)
    columns = indexed_columns(table.plan.metadata_at(table.plan.first))
    place = _segment_of(table.plan)

    def decorate(actions: pa.RecordBatch, *, state: bool, tail: bool) -> pa.RecordBatch:
        count = actions.num_rows
        segments = pa.nulls(count, pa.int32())
        if tail:
            positions = zip(
                actions.column("version").to_pylist(),
                actions.column("ordinal").to_pylist(),
                strict=True,
            )
            segments = pa.array([place(version, ordinal) for version, ordinal in positions])
        return pa.RecordBatch.from_pydict(
            {
                "table": pa.repeat(pa.scalar(read.table, pa.int32()), count),
                "segment": segments.cast(pa.int32()),
                "state": pa.repeat(state, count),
                "cluster": cluster_keys(actions, columns, table.cluster_column),
                **dict(zip(ACTIONS.names, _for_spark(actions), strict=True)),
            }
        )

    if isinstance(read.files, CheckpointTask):
        for batch in read_checkpoint_task(store, read.files):
            yield decorate(batch, state=True, tail=False)
        return
    for file in read.files:
        actions = read_commit(store, file).actions
        tail = table.log.history and file.version >= table.plan.first
        if actions.num_rows:
            yield decorate(actions, state=file != table.log.opening, tail=tail)


def _for_spark(actions: pa.RecordBatch) -> list[pa.Array]:
    """Columns as Spark's Arrow reader takes them: binary of no fixed size."""
    return [
        column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column
        for column in actions.columns
    ]


def _segment_of(plan: TablePlan) -> Callable[[int, int], int | None]:
    """The number of the segment that holds a version's ordinal."""
    starts = [(segment.first, segment.ordinal) for segment in plan.segments]

    def place(version: int, ordinal: int) -> int | None:
        number = bisect_right(starts, (version, ordinal)) - 1
        return number if number >= 0 and plan.segments[number].last >= version else None

    return place


def tail_rows(commits: DataFrame) -> DataFrame:
    """The rows of tail segments, each segment whole in one partition and in commit order."""
    return (
        commits.filter(F.col("segment").isNotNull())
        .repartition("table", "segment")
        .sortWithinPartitions("table", "segment", "version", "ordinal")
    )


def lifetimes(checkpoints: DataFrame, commits: DataFrame, commit_rows: int) -> DataFrame:
    """Files that commits touch, each with the version that ends it (`end`; `_NEVER` if none).

    The last action on a key decides; within one commit, removes come before adds.
    """
    state = commits.filter(F.col("state") & (F.col("action") != "cdc"))
    touched = checkpoints.join(_keys(state, commit_rows), ["table", "key"], "left_semi")
    is_add = (F.col("action") == "add").cast("int")
    by_key = Window.partitionBy("table", "key").orderBy("version", is_add, "ordinal")
    return (
        touched.unionByName(state)
        .withColumn("end", F.coalesce(F.lead("version").over(by_key), F.lit(_NEVER)))
        .filter((F.col("action") == "add") & (F.col("end") > F.col("version")))
    )


def untouched(checkpoints: DataFrame, commits: DataFrame, commit_rows: int) -> DataFrame:
    """Files of checkpoints that no commit touches: live in every epoch."""
    state = commits.filter(F.col("state") & (F.col("action") != "cdc"))
    rest = checkpoints.join(_keys(state, commit_rows), ["table", "key"], "left_anti")
    return rest.withColumn("end", F.lit(_NEVER))


def _keys(state: DataFrame, commit_rows: int) -> DataFrame:
    keys = state.select("table", "key").distinct()
    return F.broadcast(keys) if commit_rows <= _BROADCAST_KEYS else keys


def base_rows(
    spark: SparkSession,
    files: DataFrame,
    tables: Sequence[TableReplay],
    partitions: int,
) -> DataFrame:
    """The live files at each epoch's first version, clustered: ordered by table, epoch, cluster."""
    epochs = spark.createDataFrame(
        [
            (number, place, epoch.first)
            for number, table in enumerate(tables)
            for place, epoch in enumerate(table.plan.epochs)
        ],
        "table int, epoch int, first bigint",
    )
    live = files.join(F.broadcast(epochs), "table").filter(
        (F.col("version") <= F.col("first")) & (F.col("first") < F.col("end"))
    )
    order = ("table", "epoch", "cluster", "version", "ordinal")
    return live.repartitionByRange(partitions, *order).sortWithinPartitions(*order)


def totals_changes(files: DataFrame) -> DataFrame:
    """By table and version: the change of live files, bytes, known records, files of unknown
    records, and files with deletion vectors.
    """
    records = F.get_json_object("stats", "$.numRecords").cast("bigint")
    measured = files.select(
        "table",
        "version",
        "end",
        F.coalesce("size", F.lit(0)).alias("bytes"),
        F.coalesce(records, F.lit(0)).alias("records"),
        records.isNull().cast("bigint").alias("unknown"),
        F.col("dv_storage_type").isNotNull().cast("bigint").alias("vectors"),
    )

    def change(at: str, sign: int) -> DataFrame:
        amounts = [
            (F.col(name) * sign).alias(name) for name in ("bytes", "records", "unknown", "vectors")
        ]
        return measured.filter(F.col(at) < _NEVER).select(
            "table", F.col(at).alias("version"), F.lit(sign).alias("files"), *amounts
        )

    return (
        change("version", 1)
        .unionByName(change("end", -1))
        .groupBy("table", "version")
        .agg(*(F.sum(n).alias(n) for n in ("files", "bytes", "records", "unknown", "vectors")))
    )


def actions_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Spark's columns back as ACTIONS."""
    arrays = [batch.column(field.name).cast(field.type) for field in ACTIONS]
    return pa.RecordBatch.from_arrays(arrays, schema=ACTIONS)
