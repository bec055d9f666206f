"""What to index of one table: which log files to read, and how its versions fall into epochs.

Everything here is plain arithmetic on what the survey found; nothing reads storage.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.errors import DeltaLogError
from headgate.log.checkpoints import CheckpointTask
from headgate.log.listing import Checkpoint, LogListing
from headgate.log.segment import CommitFile, reconstructable, segment_at
from headgate.log.timestamps import commit_timestamps, in_commit_timestamp
from headgate.log.validation import require_servable
from headgate.manifest.head import FORMAT_VERSION, SchemaChange
from headgate.model.actions import Metadata, Protocol

# A new epoch starts where the tail would outgrow this share of its base: every epoch then repeats
# a base at most once per that share of changes, so storage stays proportional to the changes.
TAIL_SHARE = 8
# Tails shorter than this cost a query nothing worth a new base.
MIN_TAIL_ROWS = 8_192
# Rows of one tail segment.
SEGMENT_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class LogPlan:
    """The log files that one table's index is built from.

    The state at `first` is `checkpoint` (None: nothing) and the commits up to `first`; `commits`
    go on to `latest`. `opening` is the checkpoint's own commit where its actions are wanted for
    changes only.
    """

    first: int
    latest: int
    checkpoint: Checkpoint | None
    commits: tuple[CommitFile, ...]
    opening: CommitFile | None
    history: bool
    state: str


def plan_log(listing: LogListing, *, history: bool, start_version: int) -> LogPlan:
    """Which files to read: all versions that sharing needs, and no more.

    Raises DeltaLogError where the log does not give them.
    """
    versions = reconstructable(listing)
    latest = versions[-1]
    first = min(max(versions[0], start_version), latest) if history else latest
    segment = segment_at(listing, first)
    commits = list(segment.commits)
    commits += [
        CommitFile(version, listing.commits[version]) for version in range(first + 1, latest + 1)
    ]
    opening = None
    if history and segment.checkpoint is not None and segment.checkpoint.version == first:
        file = listing.commits.get(first)
        opening = None if file is None else CommitFile(first, file)
    last = listing.commits.get(latest)
    fingerprint = (
        FORMAT_VERSION,
        history,
        first,
        latest,
        None if last is None else (last.size_bytes, last.modified_ms),
    )
    state = hashlib.sha256(repr(fingerprint).encode()).hexdigest()
    return LogPlan(first, latest, segment.checkpoint, tuple(commits), opening, history, state)


@dataclass(frozen=True, slots=True)
class CommitSurvey:
    """What a commit holds, without its file actions."""

    version: int
    modified_ms: int
    in_commit_timestamp_ms: int | None
    operation: str | None
    protocol: Protocol | None
    metadata: Metadata | None
    adds: int
    removes: int
    cdcs: int

    @property
    def rows(self) -> int:
        return self.adds + self.removes + self.cdcs


@dataclass(frozen=True, slots=True)
class CheckpointSurvey:
    """A checkpoint's table-level actions and the tasks that read its adds."""

    version: int
    protocol: Protocol | None
    metadata: Metadata | None
    tasks: tuple[CheckpointTask, ...]

    @property
    def rows(self) -> int:
        return sum(task.rows for task in self.tasks)


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """A tail segment: versions `first` to `last`; of a version spread over several, the ordinals
    from `ordinal` on.
    """

    epoch: int
    first: int
    last: int
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class EpochPlan:
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TablePlan:
    """How a table's versions are laid out, and how much there is to do.

    `first` is the log plan's, or later where older versions cannot be served.
    """

    first: int
    history: tuple[SchemaChange, ...]
    timestamps: Mapping[int, int]
    operations: Mapping[int, str | None]
    epochs: tuple[EpochPlan, ...]
    segments: tuple[SegmentPlan, ...]
    base_rows: int  # of all epochs together, about
    commit_rows: int  # file actions in commits

    def metadata_at(self, version: int) -> Metadata:
        """The metadata in effect at a version that the plan covers."""
        found = self.history[0]
        for change in self.history:
            if change.version <= version:
                found = change
        return found.metadata


def plan_table(
    log: LogPlan,
    checkpoint: CheckpointSurvey | None,
    commits: Sequence[CommitSurvey],
    opening: CommitSurvey | None,
) -> TablePlan:
    """Lays out epochs and segments.

    `commits` ascend and match `log.commits`. Raises DeltaLogError where the latest version cannot
    be served.
    """
    history, timestamps = _history(log, checkpoint, commits, opening)
    start = max(log.first, history[0].version)
    live = 0 if checkpoint is None else checkpoint.rows
    for commit in commits:
        if commit.version <= start:
            live += commit.adds - commit.removes
    read = [*([opening] if opening else []), *commits]
    at_first = next((commit for commit in read if commit.version == start), None)
    epochs: list[EpochPlan] = []
    segments: list[SegmentPlan] = []
    first, base_rows, tail_rows = start, live, 0
    segments += _segments(0, [at_first] if log.history and at_first is not None else [])
    pending: list[CommitSurvey] = []
    total = live
    for commit in commits:
        if commit.version <= start:
            continue
        live += commit.adds - commit.removes
        tail_rows += commit.rows
        if tail_rows > max(MIN_TAIL_ROWS, base_rows // TAIL_SHARE):
            segments += _segments(len(epochs), pending)
            epochs.append(EpochPlan(first, commit.version - 1))
            first, base_rows, tail_rows, pending = commit.version, live, 0, []
            total += live
            segments += _segments(len(epochs), [commit])
        else:
            pending.append(commit)
    segments += _segments(len(epochs), pending)
    epochs.append(EpochPlan(first, log.latest))
    return TablePlan(
        start,
        history,
        timestamps,
        {commit.version: commit.operation for commit in read},
        tuple(epochs),
        tuple(segments),
        total,
        sum(commit.rows for commit in commits),
    )


def _segments(epoch: int, commits: Sequence[CommitSurvey]) -> list[SegmentPlan]:
    """Commits gathered into segments of at most SEGMENT_ROWS; larger ones cut into several."""
    segments: list[SegmentPlan] = []
    rows: int | None = None  # in the last segment; None where it takes no more commits
    for commit in commits:
        if commit.rows > SEGMENT_ROWS:
            segments += [
                SegmentPlan(epoch, commit.version, commit.version, ordinal)
                for ordinal in range(0, commit.rows, SEGMENT_ROWS)
            ]
            rows = None
        elif rows is None or rows + commit.rows > SEGMENT_ROWS:
            segments.append(SegmentPlan(epoch, commit.version, commit.version))
            rows = commit.rows
        else:
            segments[-1] = SegmentPlan(epoch, segments[-1].first, commit.version)
            rows += commit.rows
    return segments


def _history(
    log: LogPlan,
    checkpoint: CheckpointSurvey | None,
    commits: Sequence[CommitSurvey],
    opening: CommitSurvey | None,
) -> tuple[tuple[SchemaChange, ...], dict[int, int]]:
    """What is in effect from which version on, and every version's commit timestamp."""
    protocol = None if checkpoint is None else checkpoint.protocol
    metadata = None if checkpoint is None else checkpoint.metadata
    changes: list[SchemaChange] = []
    unservable: DeltaLogError | None = None
    times: list[tuple[int, int, int | None]] = []

    def settle(version: int) -> None:
        nonlocal unservable
        try:
            servable = require_servable(protocol, metadata, version)
        except DeltaLogError as error:
            changes.clear()  # no version before this one can be shared either: history has no gaps
            unservable = error
        else:
            changes.append(SchemaChange(version, *servable))
            unservable = None

    if log.checkpoint is not None:
        at = log.checkpoint.version
        if at == log.first:
            settle(at)
        stamp = None
        if opening is not None and metadata is not None:
            stamp = in_commit_timestamp(opening, metadata)
        modified_ms = log.checkpoint.modified_ms if opening is None else opening.modified_ms
        times.append((at, modified_ms, stamp))
    for commit in commits:
        protocol = commit.protocol or protocol
        metadata = commit.metadata or metadata
        changed = commit.protocol is not None or commit.metadata is not None
        if commit.version == log.first or (commit.version > log.first and changed):
            settle(commit.version)
        stamp = None if metadata is None else in_commit_timestamp(commit, metadata)
        times.append((commit.version, commit.modified_ms, stamp))
    if unservable is not None:
        raise unservable
    versions = [version for version, _, _ in times]
    return tuple(changes), dict(zip(versions, commit_timestamps(times), strict=True))
