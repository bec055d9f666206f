"""First pass over the logs, on Spark: what each commit and checkpoint holds, without its files.

One row a log file goes back to the driver, which plans epochs from them. A table whose log is
damaged gives an error row, and stops no other table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headgate.errors import HeadgateError
from headgate.indexer.plan import CheckpointSurvey, CommitSurvey, LogPlan
from headgate.indexer.tasks import run_tasks
from headgate.log.checkpoints import (
    checkpoint_tasks,
    read_checkpoint_state,
    read_checkpoint_task,
)
from headgate.log.commits import read_commit
from headgate.log.listing import Checkpoint
from headgate.log.segment import CommitFile
from headgate.storage.locate import open_store
from headgate.storage.options import StorageOptions

# Commits that one task reads; a checkpoint is a task of its own.
_COMMITS_A_TASK = 256
# Files whose statistics are sampled from each log file, to choose the clustering by.
_SAMPLE_FILES = 2_048


@dataclass
class LogSurvey:
    """What the survey found of one table."""

    checkpoint: CheckpointSurvey | None = None
    commits: dict[int, CommitSurvey] = field(default_factory=dict)
    stats_sample: list[str] = field(default_factory=list)
    error: HeadgateError | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    table: int
    location: str
    files: tuple[CommitFile, ...] | Checkpoint


@dataclass(frozen=True, slots=True)
class _Found:
    table: int
    survey: CommitSurvey | CheckpointSurvey | HeadgateError
    sample: tuple[str, ...] = ()


def survey_logs(
    spark: SparkSession,
    plans: Sequence[tuple[str, LogPlan]],
    options: StorageOptions,
) -> list[LogSurvey]:
    """One LogSurvey for each (location, plan)."""
    tasks: list[_Task] = []
    for table, (location, plan) in enumerate(plans):
        if plan.checkpoint is not None:
            tasks.append(_Task(table, location, plan.checkpoint))
        commits = [*((plan.opening,) if plan.opening else ()), *plan.commits]
        for start in range(0, len(commits), _COMMITS_A_TASK):
            tasks.append(_Task(table, location, tuple(commits[start : start + _COMMITS_A_TASK])))
    surveys = [LogSurvey() for _ in plans]

    def run(task: _Task) -> Iterator[_Found]:
        return _survey(task, options)

    for found in run_tasks(spark, tasks, run):
        survey = surveys[found.table]
        survey.stats_sample += found.sample[: max(0, _SAMPLE_FILES - len(survey.stats_sample))]
        if isinstance(found.survey, CommitSurvey):
            survey.commits[found.survey.version] = found.survey
        elif isinstance(found.survey, CheckpointSurvey):
            survey.checkpoint = found.survey
        else:
            survey.error = survey.error or found.survey
    return surveys


def _survey(task: _Task, options: StorageOptions) -> Iterator[_Found]:
    try:
        store = open_store(task.location, options)
        if isinstance(task.files, Checkpoint):
            state = read_checkpoint_state(store, task.files)
            tasks = tuple(checkpoint_tasks(store, task.files))
            sample: tuple[str, ...] = ()
            if tasks:
                batch = next(read_checkpoint_task(store, tasks[0], _SAMPLE_FILES), None)
                sample = () if batch is None else _sample(batch)
            survey = CheckpointSurvey(task.files.version, state.protocol, state.metadata, tasks)
            yield _Found(task.table, survey, sample)
            return
        for file in task.files:
            commit = read_commit(store, file)
            action = commit.actions.column("action")
            counts = {row["values"]: row["counts"] for row in pc.value_counts(action).to_pylist()}
            yield _Found(
                task.table,
                CommitSurvey(
                    commit.version,
                    commit.modified_ms,
                    commit.in_commit_timestamp_ms,
                    commit.operation,
                    commit.protocol,
                    commit.metadata,
                    counts.get("add", 0),
                    counts.get("remove", 0),
                    counts.get("cdc", 0),
                ),
                _sample(commit.actions),
            )
    except HeadgateError as error:
        yield _Found(task.table, error)


def _sample(actions: pa.RecordBatch) -> tuple[str, ...]:
    stats = actions.column("stats").slice(0, _SAMPLE_FILES).drop_null()
    return tuple(stats.to_pylist())
