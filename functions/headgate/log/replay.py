"""A table's state at one version, replayed from the log in memory.

This is the plain reading of the protocol, apart from the pipeline's: what manifests are verified
against, and what small tables and tests use.
Source: Delta protocol, "Action Reconciliation".
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate.log.checkpoints import (
    checkpoint_tasks,
    read_checkpoint_state,
    read_checkpoint_task,
)
from headgate.log.commits import Commit, read_commit, read_compaction
from headgate.log.listing import LogListing, list_log
from headgate.log.segment import CommitFile, segment_at
from headgate.log.validation import require_servable
from headgate.manifest.actions import ACTIONS
from headgate.model.actions import Metadata, Protocol
from headgate.storage.base import ObjectStore


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A table at `version`; `files` are its live adds (schema ACTIONS), in no particular order."""

    version: int
    protocol: Protocol
    metadata: Metadata
    files: pa.Table


def replay(
    store: ObjectStore, version: int | None = None, listing: LogListing | None = None
) -> Snapshot:
    """The table whose root `store` is, at `version` (None: the latest).

    `listing` is its whole log, where it has been listed already. Raises DeltaLogError where the log
    is invalid, does not give the version, or the table cannot be served (`require_servable`).
    """
    if listing is None:
        listing = list_log(store)
    segment = segment_at(listing, version)
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    if segment.checkpoint is not None:
        state = read_checkpoint_state(store, segment.checkpoint)
        protocol, metadata = state.protocol, state.metadata
    commits = [
        read_commit(store, file) if isinstance(file, CommitFile) else read_compaction(store, file)
        for file in segment.state_files
    ]
    for commit in commits:
        protocol = commit.protocol or protocol
        metadata = commit.metadata or metadata
    protocol, metadata = require_servable(protocol, metadata, segment.version)

    live, touched = reconcile(commits)
    batches = [live]
    if segment.checkpoint is not None:
        for task in checkpoint_tasks(store, segment.checkpoint):
            for batch in read_checkpoint_task(store, task):
                batches.append(batch.filter(pc.invert(pc.is_in(batch["key"], touched))))
    return Snapshot(
        segment.version, protocol, metadata, pa.Table.from_batches(batches, schema=ACTIONS)
    )


def reconcile(commits: list[Commit]) -> tuple[pa.RecordBatch, pa.Array]:
    """The adds that are live after `commits`, in ascending order of versions, and the keys of all
    files that they add or remove: an older state's files with these keys are no longer live.

    The last action on a key wins; within one commit, removes come before adds.
    """
    actions = pa.concat_batches(
        [pa.RecordBatch.from_pylist([], ACTIONS), *(commit.actions for commit in commits)]
    )
    kinds = actions["action"].to_pylist()
    keys = actions["key"].to_pylist()
    versions = actions["version"].to_pylist()
    last: dict[bytes, int] = {}
    for row, (kind, key) in enumerate(zip(kinds, keys, strict=True)):
        if kind == "cdc":
            continue
        before = last.get(key)
        if (
            before is not None
            and kind == "remove"
            and kinds[before] == "add"
            and versions[before] == versions[row]
        ):
            continue
        last[key] = row
    live = [row for row in last.values() if kinds[row] == "add"]
    return actions.take(pa.array(live, pa.int64())), pa.array(list(last), pa.binary(16))
