"""Commits and log compaction files: newline-delimited JSON actions as Arrow batches.

Source: Delta protocol, "Delta Log Entries", "Log Compaction Files" and "Actions".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from headgate.errors import DeltaLogError
from headgate.log.listing import Compaction
from headgate.log.segment import CommitFile
from headgate.manifest.actions import ACTIONS
from headgate.manifest.keys import deletion_vector_id, file_key
from headgate.model.actions import Metadata, Protocol
from headgate.storage.base import ObjectStore

_BOM = b"\xef\xbb\xbf"
_ACTION_KINDS = frozenset({"add", "remove", "cdc", "protocol", "metaData", "commitInfo", "sidecar"})
# Parsed JSON is far larger than the Arrow rows it becomes, so a large commit is turned chunk by
# chunk: three times as fast as keeping all of it.
_CHUNK_ROWS = 4096
_NOT_VALID = (KeyError, TypeError, AttributeError, ValueError, OverflowError, pa.ArrowException)
_NO_DELETION_VECTOR = (None, None, None, None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Commit:
    """What one commit, or a compaction of several, does.

    `actions` are its add, remove and cdc actions (schema ACTIONS) in the order written; other
    actions (txn, domainMetadata, …) do not concern readers. A compaction's `version` is its last
    one, which its rows carry too; it says nothing of the commits' times and operations.
    """

    version: int
    modified_ms: int
    actions: pa.RecordBatch
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    in_commit_timestamp_ms: int | None = None
    operation: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedLines:
    """The actions of newline-delimited JSON; of table-level ones the last of each kind.

    `sidecars` occur in v2 checkpoints only.
    """

    actions: pa.RecordBatch
    protocol: Protocol | None
    metadata: Metadata | None
    commit_info: Mapping[str, Any]
    sidecars: Sequence[Mapping[str, Any]]


def read_commit(store: ObjectStore, commit: CommitFile) -> Commit:
    """Reads and parses a commit below the table root `store`.

    Raises DeltaLogError where it is not valid, ObjectNotFound where it has been cleaned up since it
    was listed.
    """
    return parse_commit(store.get(commit.file.key), commit.version, commit.file.modified_ms)


def read_compaction(store: ObjectStore, compaction: Compaction) -> Commit:
    """Reads a compaction file as one commit: for each file its last action in the range.

    Raises as `read_commit` does.
    """
    return parse_commit(store.get(compaction.file.key), compaction.end, compaction.file.modified_ms)


def parse_commit(body: bytes, version: int, modified_ms: int) -> Commit:
    """The commit of `version` from its bytes. Raises DeltaLogError where they are not one."""
    lines = parse_lines(body, version)
    return Commit(
        version=version,
        modified_ms=modified_ms,
        actions=lines.actions,
        protocol=lines.protocol,
        metadata=lines.metadata,
        in_commit_timestamp_ms=_integer(lines.commit_info.get("inCommitTimestamp")),
        operation=_text(lines.commit_info.get("operation")),
    )


def parse_lines(body: bytes, version: int) -> ParsedLines:
    """The actions of `body`, one JSON object a line.

    Blank lines, carriage returns and a byte order mark are let pass, as Spark's JSON reader does;
    unknown kinds of action are ignored, as the protocol asks. Raises DeltaLogError naming
    `version` for anything that is not an action a line, an action spread over lines included.
    """
    rows: list[tuple[Any, ...]] = []
    batches: list[pa.RecordBatch] = []
    ordinal = 0
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    commit_info: Mapping[str, Any] = {}
    sidecars: list[Mapping[str, Any]] = []
    kind = ""
    try:
        for line in body.removeprefix(_BOM).split(b"\n"):
            if not line or line.isspace():
                continue
            kind = ""
            entry = orjson.loads(line)
            if len(entry) > 1:
                entry = _the_one_action(entry, version)
            for kind, action in entry.items():
                if action is None:
                    continue
                row = _ROWS.get(kind)
                if row is not None:
                    rows.append(row(action, ordinal, version))
                    ordinal += 1
                    if len(rows) == _CHUNK_ROWS:
                        batches.append(_batch(rows))
                        rows.clear()
                elif kind == "protocol":
                    protocol = Protocol.from_json(action)
                elif kind == "metaData":
                    metadata = parse_metadata(action)
                elif kind == "commitInfo":
                    commit_info = action if isinstance(action, dict) else {}
                elif kind == "sidecar":
                    sidecars.append(action)
        kind = ""
        batches.append(_batch(rows))
        actions = pa.concat_batches(batches)
    except DeltaLogError as error:
        raise DeltaLogError(error.cause, version) from error
    except orjson.JSONDecodeError as error:
        raise DeltaLogError(
            "the log entry is not one JSON action a line (are actions spread over lines?)", version
        ) from error
    except _NOT_VALID as error:
        what = f"{kind} action" if kind else "file action"
        raise DeltaLogError(f"the log entry holds a {what} that is not valid", version) from error
    return ParsedLines(actions, protocol, metadata, commit_info, sidecars)


def parse_metadata(action: Mapping[str, Any]) -> Metadata:
    """The metadata of a metaData action; with an empty schema string where it has none.

    Such a version cannot be served (`validation` refuses it), but a later one may bring the schema.
    Raises DeltaLogError where the action is not valid.
    """
    return Metadata.from_json({**action, "schemaString": action.get("schemaString") or ""})


def _the_one_action(entry: dict[str, Any], version: int) -> dict[str, Any]:
    """A line may name other kinds with null; two actions on one have no defined order."""
    known = {k: v for k, v in entry.items() if v is not None and k in _ACTION_KINDS}
    if len(known) > 1:
        raise DeltaLogError("the log entry holds several actions on one line", version)
    return known


def _add(action: dict[str, Any], ordinal: int, version: int) -> tuple[Any, ...]:
    get = action.get
    path = action["path"]
    vector = get("deletionVector")
    key, descriptor = (
        (file_key(path), _NO_DELETION_VECTOR) if vector is None else _with_vector(path, vector)
    )
    stats = get("stats")
    if stats == "null" or stats == "":
        stats = None
    data_change = get("dataChange")
    return (
        version,
        ordinal,
        "add",
        key,
        path,
        get("partitionValues") or {},
        int(action["size"]),
        get("modificationTime"),
        None,
        True if data_change is None else data_change,
        stats,
        *descriptor,
        get("baseRowId"),
        get("defaultRowCommitVersion"),
    )


def _remove(action: dict[str, Any], ordinal: int, version: int) -> tuple[Any, ...]:
    get = action.get
    path = action["path"]
    vector = get("deletionVector")
    key, descriptor = (
        (file_key(path), _NO_DELETION_VECTOR) if vector is None else _with_vector(path, vector)
    )
    stats = get("stats")
    if stats == "null" or stats == "":
        stats = None
    data_change = get("dataChange")
    return (
        version,
        ordinal,
        "remove",
        key,
        path,
        get("partitionValues"),
        get("size"),
        None,
        get("deletionTimestamp"),
        True if data_change is None else data_change,
        stats,
        *descriptor,
        get("baseRowId"),
        get("defaultRowCommitVersion"),
    )


def _cdc(action: dict[str, Any], ordinal: int, version: int) -> tuple[Any, ...]:
    path = action["path"]
    return (
        version,
        ordinal,
        "cdc",
        file_key(path),
        path,
        action.get("partitionValues") or {},
        int(action["size"]),
        None,
        None,
        # The data of a cdc file is already in the table, whatever the action says.
        False,
        None,
        *_NO_DELETION_VECTOR,
        None,
        None,
    )


_ROWS = {"add": _add, "remove": _remove, "cdc": _cdc}


def _with_vector(path: str, vector: dict[str, Any]) -> tuple[bytes, tuple[Any, ...]]:
    storage_type = vector["storageType"]
    stored = vector["pathOrInlineDv"]
    offset = vector.get("offset")
    key = file_key(path, deletion_vector_id(storage_type, stored, offset))
    return key, (storage_type, stored, offset, vector["sizeInBytes"], vector["cardinality"])


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in ACTIONS]
    arrays = [
        partition_maps(column) if field.name == "partition_values" else pa.array(column, field.type)
        for field, column in zip(ACTIONS, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ACTIONS)


def partition_maps(values: Sequence[Mapping[str, str | None] | None]) -> pa.Array:
    """`values` as an array of ACTIONS' map type. (Several times as fast as `pa.array`.)"""
    offsets: list[int | None] = []
    names: list[str] = []
    texts: list[str | None] = []
    for value in values:
        if value is None:
            offsets.append(None)
        else:
            offsets.append(len(names))
            names.extend(value)
            texts.extend(value.values())
    offsets.append(len(names))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(names, pa.string()), pa.array(texts, pa.string())
    )


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
