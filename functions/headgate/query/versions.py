"""Which version a request means, and what the table was at that version.

Source: Delta Sharing protocol, "Read Data from a Table", "Query Table Version"; messages after
the reference server's.
"""

import datetime
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate.errors import InvalidParameter, ManifestNotReady, UnsupportedOperation
from headgate.manifest.head import Epoch, Head, SchemaChange, Totals
from headgate.manifest.read import ManifestReader
from headgate.manifest.write import COMMITS
from headgate.model.sharing import Table


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table at one version: the epoch that answers it, and what was in effect and live."""

    head: Head
    epoch: Epoch
    version: int
    timestamp_ms: int
    change: SchemaChange
    totals: Totals


def open_head(reader: ManifestReader, table: Table) -> Head:
    """The head of a shared table.

    Raises ManifestNotReady before the first index, UnsupportedOperation where the table is refused.
    """
    head = reader.head(table.index_id)
    if head is None:
        raise ManifestNotReady(f"Table '{table.full_name}' is not indexed yet. Please retry later.")
    if head.refusal is not None:
        at = "" if head.refusal.version is None else f" (version {head.refusal.version})"
        raise UnsupportedOperation(
            f"Table '{table.full_name}' cannot be shared: {head.refusal.cause}{at}"
        )
    return head


def snapshot_at(
    reader: ManifestReader, table: Table, version: int | None, timestamp: str | None
) -> Snapshot:
    """The snapshot at `version`, at `timestamp` (ISO 8601 with an offset), or the latest one.

    Raises InvalidParameter where the request names no version the recipient may read.
    """
    if version is not None and timestamp is not None:
        raise InvalidParameter("Please only provide one of: version,timestamp,startingVersion")
    if version is not None and version < 0:
        raise InvalidParameter("table version cannot be negative.")
    head = open_head(reader, table)
    if timestamp is not None:
        require_history(table)
        version = version_at(reader, head, parse_timestamp(timestamp))
    elif version is None:
        return _snapshot(reader, head, head.epochs[-1], head.version)
    require_history(table)
    if version < table.start_version:
        raise InvalidParameter(
            f"You can only query table data since version {table.start_version}."
        )
    epoch = head.epoch_of(version)
    if epoch is None:
        raise InvalidParameter(
            f"Cannot load table version {version}. "
            f"Available versions: [{head.epochs[0].first}, {head.version}]."
        )
    return _snapshot(reader, head, epoch, version)


def version_since(reader: ManifestReader, table: Table, timestamp: str) -> int:
    """The first version at or after `timestamp`."""
    require_history(table)
    moment = parse_timestamp(timestamp)
    head = open_head(reader, table)
    if moment > head.timestamp_ms:
        raise InvalidParameter(
            f"The provided timestamp ({_shown(moment)}) is after the latest version available "
            f"to this table ({_shown(head.timestamp_ms)}). "
            f"Please use a timestamp before or at {_shown(head.timestamp_ms)}."
        )
    if moment <= head.epochs[0].first_timestamp_ms:
        found = head.epochs[0].first
    else:
        before = version_at(reader, head, moment - 1)
        found = before + 1
    if found < table.start_version:
        raise InvalidParameter(
            f"You can only query table data since version {table.start_version}."
        )
    return found


def require_history(table: Table) -> None:
    if not table.history_shared:
        raise InvalidParameter(
            "Reading table by version or timestamp is not supported because history sharing is "
            f"not enabled on table: {table.full_name}"
        )


def parse_timestamp(text: str) -> int:
    """Milliseconds since the epoch of an ISO 8601 timestamp with an offset."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidParameter(
            "Invalid startingTimestamp: a timestamp must be ISO 8601 with a zone offset, "
            "for example 2022-01-01T00:00:00Z"
        )
    return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def version_at(reader: ManifestReader, head: Head, moment_ms: int) -> int:
    """The last version whose commit timestamp is at or before `moment_ms`."""
    first = head.epochs[0]
    if moment_ms < first.first_timestamp_ms:
        raise InvalidParameter(
            f"The provided timestamp ({_shown(moment_ms)}) is before the earliest available "
            f"version {first.first} ({_shown(first.first_timestamp_ms)})."
        )
    if moment_ms > head.timestamp_ms:
        raise InvalidParameter(
            f"The provided timestamp ({_shown(moment_ms)}) is after the latest available version "
            f"{head.version} ({_shown(head.timestamp_ms)})."
        )
    epoch = next(e for e in reversed(head.epochs) if e.first_timestamp_ms <= moment_ms)
    commits = commits_of(reader, head, epoch)
    reached = commits.filter(pc.less_equal(commits["timestamp"], moment_ms))
    return max(epoch.first, pc.max(reached["version"]).as_py() or 0)


def commits_of(reader: ManifestReader, head: Head, epoch: Epoch) -> pa.Table:
    """The commit rows of an epoch's segments, ascending; may be empty."""
    batches = reader.commits(head.table_id, epoch.segments)
    return pa.Table.from_batches(batches, COMMITS) if batches else COMMITS.empty_table()


def _snapshot(reader: ManifestReader, head: Head, epoch: Epoch, version: int) -> Snapshot:
    change = head.in_effect(version)
    if version == head.version:
        return Snapshot(head, epoch, version, head.timestamp_ms, change, head.totals)
    if version == epoch.first:
        return Snapshot(head, epoch, version, epoch.first_timestamp_ms, change, epoch.base.totals)
    commits = commits_of(reader, head, epoch)
    [row] = commits.filter(pc.equal(commits["version"], version)).to_pylist()
    totals = Totals(row["files"], row["bytes"], row["records"], row["deletion_vectors"])
    return Snapshot(head, epoch, version, row["timestamp"], change, totals)


def _shown(moment_ms: int) -> str:
    moment = _EPOCH + datetime.timedelta(milliseconds=moment_ms)
    return moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")
