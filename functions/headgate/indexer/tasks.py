"""Python tasks on Spark executors: a list of picklable tasks in, picklable results out."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from pyspark.sql import SparkSession

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

# Tasks a partition holds on average, at most: small ones share the cost of starting it.
_TASKS_A_PARTITION = 16


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[_Task],
    run: Callable[[_Task], Iterable[_Result]],
) -> list[_Result]:
    """All results of `run` over `tasks`, in the order of tasks."""
    if not tasks:
        return []
    context = spark.sparkContext
    wanted = max(context.defaultParallelism * 2, len(tasks) // _TASKS_A_PARTITION)
    slices = min(len(tasks), wanted)

    def run_pickled(pickled: bytes) -> Iterator[bytes]:
        for result in run(pickle.loads(pickled)):  # noqa: S301 - pickled by the driver, above
            yield pickle.dumps(result)

    pickled = context.parallelize([pickle.dumps(task) for task in tasks], slices)
    return [pickle.loads(result) for result in pickled.flatMap(run_pickled).collect()]  # noqa: S301
