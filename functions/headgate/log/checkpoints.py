"""Checkpoints in every form: classic, multi-part and v2, with or without sidecars.

A checkpoint is already reconciled, so its adds are the table's live files; its removes are
tombstones for vacuum and are never read.
Source: Delta protocol, "Checkpoints", "V2 Spec", "Sidecar Files" and "Checkpoint Schema".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.errors import DeltaLogError, ObjectNotFound
from headgate.log.checkpoint_rows import add_columns, add_rows
from headgate.log.commits import ParsedLines, parse_lines, parse_metadata
from headgate.log.listing import SIDECAR_DIR, Checkpoint, CheckpointKind
from headgate.model.actions import Metadata, Protocol
from headgate.storage.base import ObjectStore

# Row groups are gathered into tasks of about this many adds.
_TASK_ROWS = 200_000
_BATCH_ROWS = 16_384
_FOOTERS_AT_ONCE = 16

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CheckpointTask:
    """A part of a checkpoint that one worker reads; picklable.

    `row_groups` is the half-open range in a Parquet file, None for a JSON one. `rows` is the
    number of adds, exact where the file's footer tells it, else an upper bound.
    """

    key: str
    version: int
    row_groups: tuple[int, int] | None
    rows: int


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """The table-level actions of a checkpoint (None where it lacks them) and how many adds it has,
    counted as in CheckpointTask.
    """

    protocol: Protocol | None
    metadata: Metadata | None
    rows: int


def checkpoint_tasks(store: ObjectStore, checkpoint: Checkpoint) -> list[CheckpointTask]:
    """Splits the checkpoint's adds into tasks, in file order; row groups without adds are left out.

    Reads the top-level files' footers and sidecar references, and the sidecars' footers. Raises
    DeltaLogError where the checkpoint is damaged or a file of it is missing.
    """
    sidecars: Sequence[Mapping[str, Any]]
    with _reading(checkpoint.version):
        if checkpoint.kind is CheckpointKind.V2_JSON:
            lines = _json_lines(store, checkpoint)
            tasks = []
            adds = pc.sum(pc.equal(lines.actions["action"], "add")).as_py() or 0
            if adds:
                tasks.append(
                    CheckpointTask(checkpoint.files[0].key, checkpoint.version, None, adds)
                )
            sidecars = lines.sidecars
        else:
            keys = [file.key for file in checkpoint.files]
            tasks, sidecars = _parquet_tasks(store, keys, checkpoint.version, sidecars=True)
        sidecar_keys = [_sidecar_key(sidecar) for sidecar in sidecars]
        tasks += _parquet_tasks(store, sidecar_keys, checkpoint.version, sidecars=False)[0]
    return tasks


def read_checkpoint_task(
    store: ObjectStore, task: CheckpointTask, batch_rows: int = _BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The task's adds as batches of ACTIONS, in bounded memory.

    `version` is the checkpoint's and `ordinal` the place within the task. Statistics that are kept
    as a struct only are rendered as JSON. Raises DeltaLogError where the file is damaged.
    """
    with _reading(task.version):
        if task.row_groups is None:
            actions = parse_lines(store.get(task.key), task.version).actions
            yield actions.filter(pc.equal(actions["action"], "add"))
            return
        with store.open(task.key) as source:
            file = _parquet(source)
            start, stop = task.row_groups
            columns = add_columns(file, range(start, stop))
            ordinal = 0
            for batch in file.iter_batches(
                batch_size=batch_rows, row_groups=list(range(start, stop)), columns=columns.names
            ):
                rows = add_rows(batch, columns, task.version, ordinal)
                ordinal += rows.num_rows
                if rows.num_rows:
                    yield rows


def read_checkpoint_state(store: ObjectStore, checkpoint: Checkpoint) -> CheckpointState:
    """Protocol, metadata and the number of adds, without reading any file action of Parquet files.

    Raises DeltaLogError where the checkpoint is damaged or a file of it is missing.
    """
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    with _reading(checkpoint.version):
        if checkpoint.kind is CheckpointKind.V2_JSON:
            lines = _json_lines(store, checkpoint)
            protocol, metadata = lines.protocol, lines.metadata
        else:
            for file in checkpoint.files:
                with store.open(file.key) as source:
                    parquet = _parquet(source)
                    for action in _values(parquet, "protocol", "minReaderVersion"):
                        protocol = Protocol.from_json(action)
                    for action in _values(parquet, "metaData", "id"):
                        metadata = parse_metadata(action)
    rows = sum(task.rows for task in checkpoint_tasks(store, checkpoint))
    return CheckpointState(protocol, metadata, rows)


@contextmanager
def _reading(version: int) -> Iterator[None]:
    try:
        yield
    except DeltaLogError as error:
        if error.version is not None:
            raise
        raise DeltaLogError(error.cause, version) from error
    except ObjectNotFound as error:
        raise DeltaLogError("a file of the checkpoint is missing", version) from error
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise DeltaLogError("the checkpoint cannot be read", version) from error


def _json_lines(store: ObjectStore, checkpoint: Checkpoint) -> ParsedLines:
    return parse_lines(store.get(checkpoint.files[0].key), checkpoint.version)


def _parquet(source: Any) -> pq.ParquetFile:
    # Spark's INT96 timestamps are microseconds; as nanoseconds they would overflow in 2262.
    return pq.ParquetFile(source, coerce_int96_timestamp_unit="us")


def _sidecar_key(sidecar: Mapping[str, Any]) -> str:
    """Sidecars lie in one directory, so only the last part of the path, URL-encoded, says which."""
    return f"{SIDECAR_DIR}/{unquote(sidecar['path'].rsplit('/', 1)[-1])}"


def _parquet_tasks(
    store: ObjectStore, keys: Sequence[str], version: int, *, sidecars: bool
) -> tuple[list[CheckpointTask], list[dict[str, Any]]]:
    """The tasks of several Parquet files and, where `sidecars`, what sidecars they refer to."""

    def read(key: str) -> tuple[list[CheckpointTask], list[dict[str, Any]]]:
        with store.open(key) as source:
            file = _parquet(source)
            found = _values(file, "sidecar", "path") if sidecars else []
            return list(_file_tasks(file.metadata, key, version)), found

    tasks: list[CheckpointTask] = []
    references: list[dict[str, Any]] = []
    for file_tasks, file_references in _each(read, keys):
        tasks += file_tasks
        references += file_references
    return tasks, references


def _each(work: Callable[[str], _T], keys: Sequence[str]) -> list[_T]:
    if len(keys) <= 1:
        return [work(key) for key in keys]
    with ThreadPoolExecutor(min(_FOOTERS_AT_ONCE, len(keys))) as pool:
        return list(pool.map(work, keys))


def _file_tasks(metadata: pq.FileMetaData, key: str, version: int) -> Iterator[CheckpointTask]:
    start, rows = 0, 0
    for group in range(metadata.num_row_groups):
        adds = _present(metadata, group, "add.path")
        if adds == 0 and rows == 0:
            start = group + 1
        rows += adds
        if rows >= _TASK_ROWS or (adds == 0 and rows):
            yield CheckpointTask(key, version, (start, group + 1), rows)
            start, rows = group + 1, 0
    if rows:
        yield CheckpointTask(key, version, (start, metadata.num_row_groups), rows)


def _present(metadata: pq.FileMetaData, group: int, path: str) -> int:
    """How many rows of a row group have a value at `path`, or may have one."""
    row_group = metadata.row_group(group)
    for index in range(row_group.num_columns):
        column = row_group.column(index)
        if column.path_in_schema == path:
            statistics = column.statistics
            if statistics is None or not statistics.has_null_count:
                return int(row_group.num_rows)
            return int(row_group.num_rows - statistics.null_count)
    return 0


def _values(file: pq.ParquetFile, column: str, required: str) -> list[dict[str, Any]]:
    """The non-null values of a table-level action's column, as the JSON log would give them."""
    groups = [
        group
        for group in range(file.metadata.num_row_groups)
        if _present(file.metadata, group, f"{column}.{required}")
    ]
    if not groups:
        return []
    array = file.read_row_groups(groups, columns=[column])[column].combine_chunks()
    array = array.filter(pc.is_valid(pc.struct_field(array, required)))
    return [_plain(array.type, value) for value in array.to_pylist()]


def _plain(data_type: pa.DataType, value: Any) -> Any:
    """`value` with maps as dicts and without null members."""
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return dict(value)
    if pa.types.is_struct(data_type):
        return {
            field.name: _plain(field.type, value[field.name])
            for field in data_type
            if value[field.name] is not None
        }
    return value
