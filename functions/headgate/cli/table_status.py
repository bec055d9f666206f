"""How a table's index stands against its log: what `headgate status` tells."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headgate.catalog.catalog import SharedLocation
from headgate.catalog.times import instant_text
from headgate.errors import DeltaLogError, HeadgateError, ManifestError
from headgate.indexer.plan import plan_log
from headgate.log.listing import list_log
from headgate.manifest.head import (
    Epoch,
    Head,
    commits_key,
    files_key,
    head_key,
    prune_key,
    render_key,
    zones_key,
)
from headgate.manifest.read import ManifestReader
from headgate.storage.base import ObjectStore
from headgate.storage.locate import open_store
from headgate.storage.options import StorageOptions


class State(StrEnum):
    """Where the index and the log of a table stand."""

    CURRENT = "current"
    BEHIND = "behind"  # the log has newer versions
    STALE = "stale"  # same version, but of another log, or under other sharing options
    NOT_INDEXED = "not indexed"
    REFUSED = "refused"  # the index says why the table cannot be served
    UNREADABLE = "unreadable"  # the log cannot be read, or not be indexed any more
    DAMAGED = "damaged"  # the index cannot be read


@dataclass(frozen=True, slots=True)
class EpochStatus:
    """Versions `first` to `last` of an index, and what answers them. Sizes are bytes."""

    first: int
    last: int
    base_parts: int
    base_files: int
    base_bytes: int
    tail_segments: int
    tail_rows: int
    tail_bytes: int


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One shared location.

    `indexed_version` and `log_version` are None where there is none or it cannot be told. Bytes
    are of manifest objects: `index_bytes` of those that the head names and the head itself,
    `unnamed_bytes` of others (of earlier indexes, or of one that runs). `manifest_rows` counts the
    files of all bases and the rows of all tails.
    """

    table: SharedLocation
    state: State
    indexed_version: int | None
    log_version: int | None
    indexed_at_ms: int | None
    files: int
    epochs: tuple[EpochStatus, ...]
    index_bytes: int
    unnamed_bytes: int
    manifest_rows: int
    cause: str | None

    @property
    def lag(self) -> int | None:
        """Versions that the log is ahead."""
        if self.indexed_version is None or self.log_version is None:
            return None
        return max(0, self.log_version - self.indexed_version)

    @property
    def bytes_per_file(self) -> float | None:
        """Manifest bytes for each file of a base and each row of a tail."""
        return self.index_bytes / self.manifest_rows if self.manifest_rows else None

    @property
    def remedy(self) -> str | None:
        """What to do, or None where all is well."""
        command = f"headgate index {self.table.names[0]}"
        match self.state:
            case State.CURRENT:
                return None
            case State.REFUSED:
                return f"mend the table, then: {command}"
            case State.UNREADABLE:
                return f"mend that, then: {command}"
            case State.DAMAGED:
                # With the head gone, indexing starts afresh.
                return f"delete {head_key(self.table.index_id)} of the index, then: {command}"
        return command

    def to_json(self) -> dict[str, Any]:
        """For machines: camelCase keys, instants as ISO 8601, sizes in bytes."""
        return {
            "tables": list(self.table.names),
            "location": self.table.location,
            "tableId": self.table.index_id,
            "state": self.state.value,
            "indexedVersion": self.indexed_version,
            "logVersion": self.log_version,
            "lag": self.lag,
            "indexedAt": None if self.indexed_at_ms is None else instant_text(self.indexed_at_ms),
            "files": self.files,
            "indexBytes": self.index_bytes,
            "unnamedBytes": self.unnamed_bytes,
            "bytesPerFile": self.bytes_per_file and round(self.bytes_per_file, 1),
            "epochs": [
                {
                    "first": epoch.first,
                    "last": epoch.last,
                    "baseParts": epoch.base_parts,
                    "baseFiles": epoch.base_files,
                    "baseBytes": epoch.base_bytes,
                    "tailSegments": epoch.tail_segments,
                    "tailRows": epoch.tail_rows,
                    "tailBytes": epoch.tail_bytes,
                }
                for epoch in self.epochs
            ],
            "cause": self.cause,
            "remedy": self.remedy,
        }


def table_status(index: ObjectStore, table: SharedLocation, options: StorageOptions) -> TableStatus:
    """How one table stands. Costs its head, a listing of its log and one of its manifests.

    Raises StorageError where the index cannot be read; what is wrong with the table is its state.
    """
    head: Head | None = None
    damage: str | None = None
    try:
        head = ManifestReader(index).head(table.index_id)
    except ManifestError as error:
        damage = str(error)
    # After the head: what it names was written before it.
    sizes = {info.key: info.size_bytes for info in index.list(f"tables/{table.index_id}")}
    if head is not None and any(key not in sizes for key in _named(head)):
        damage = "the index lacks an object that its head names"
    log_version, log_state, log_error = _log(table, options)
    refused = head is not None and head.refusal is not None
    epochs = () if head is None else tuple(_epoch(head, epoch, sizes) for epoch in head.epochs)
    index_bytes = sum(epoch.base_bytes + epoch.tail_bytes for epoch in epochs)
    index_bytes += 0 if head is None else sizes.get(head_key(table.index_id), 0)
    state, cause = _state(head, damage, log_version, log_state, log_error)
    return TableStatus(
        table=table,
        state=state,
        indexed_version=None if head is None or head.version < 0 or refused else head.version,
        log_version=log_version,
        indexed_at_ms=None if head is None else head.indexed_at_ms,
        files=0 if head is None else head.totals.files,
        epochs=epochs,
        index_bytes=index_bytes,
        unnamed_bytes=sum(sizes.values()) - index_bytes,
        manifest_rows=sum(epoch.base_files + epoch.tail_rows for epoch in epochs),
        cause=cause,
    )


def _log(
    table: SharedLocation, options: StorageOptions
) -> tuple[int | None, str | None, HeadgateError | None]:
    """The log's latest version, and the fingerprint that an index of it has, as far as they go."""
    version = None
    try:
        listing = list_log(open_store(table.location, options))
        version = listing.latest_version
        plan = plan_log(listing, history=table.history_shared, start_version=table.start_version)
        return version, plan.state, None
    except HeadgateError as error:
        return version, None, error


def _state(
    head: Head | None,
    damage: str | None,
    log_version: int | None,
    log_state: str | None,
    log_error: HeadgateError | None,
) -> tuple[State, str | None]:
    if damage is not None:
        return State.DAMAGED, damage
    if head is not None and head.refusal is not None:
        at = "" if head.refusal.version is None else f" (version {head.refusal.version})"
        return State.REFUSED, head.refusal.cause + at
    if log_error is not None:
        cause = log_error.cause if isinstance(log_error, DeltaLogError) else str(log_error)
        return State.UNREADABLE, cause
    if head is None:
        return State.NOT_INDEXED, "there is no index of it"
    if log_version is not None and head.version < log_version:
        return State.BEHIND, None
    if head.state != log_state:
        return State.STALE, "the log or the sharing options are not those that were indexed"
    return State.CURRENT, None


def _epoch(head: Head, epoch: Epoch, sizes: dict[str, int]) -> EpochStatus:
    def total(keys: Iterable[str]) -> int:
        return sum(sizes.get(key, 0) for key in keys)

    return EpochStatus(
        epoch.first,
        epoch.last,
        len(epoch.base.parts),
        epoch.base.totals.files,
        total(_base_keys(head, epoch)),
        len(epoch.segments),
        sum(segment.rows for segment in epoch.segments),
        total(_tail_keys(head, epoch)),
    )


def _named(head: Head) -> Iterator[str]:
    for epoch in head.epochs:
        yield from _base_keys(head, epoch)
        yield from _tail_keys(head, epoch)


def _base_keys(head: Head, epoch: Epoch) -> Iterator[str]:
    yield zones_key(head.table_id, epoch.base.id)
    for part in epoch.base.parts:
        yield prune_key(head.table_id, epoch.base.id, part)
        yield render_key(head.table_id, epoch.base.id, part)


def _tail_keys(head: Head, epoch: Epoch) -> Iterator[str]:
    for segment in epoch.segments:
        yield files_key(head.table_id, segment.id)
        yield commits_key(head.table_id, segment.id)
