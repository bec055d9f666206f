"""Log segments: the files that together give a table's state at one version.

Source: Delta protocol, "Checkpoints", "Log Compaction Files" and "Metadata Cleanup".
"""

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.errors import DeltaLogError
from headgate.log.listing import Checkpoint, Compaction, LogListing
from headgate.storage.base import ObjectInfo


@dataclass(frozen=True, slots=True)
class CommitFile:
    """The commit of one version."""

    version: int
    file: ObjectInfo


@dataclass(frozen=True, slots=True)
class LogSegment:
    """The state at `version` = `checkpoint`, if any, and every commit after it up to `version`.

    `commits` holds each version once, ascending: what history needs. `state_files` covers the same
    versions with as few files as the compaction files allow: enough for the state at `version`,
    but blind to the versions inside a compaction.
    """

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[CommitFile, ...]
    state_files: tuple[CommitFile | Compaction, ...]


def reconstructable(listing: LogListing) -> range:
    """The versions whose state the log still gives, up to the latest: never empty.

    They start at version 0 where all commits are left, else at the earliest complete checkpoint
    after which no commit is missing. (Its own commit may be gone.)
    Raises DeltaLogError where the log is empty, or does not give the latest version.
    """
    latest = listing.latest_version
    first_commit = latest + 1
    while first_commit - 1 in listing.commits:
        first_commit -= 1
    if first_commit == 0:
        return range(latest + 1)
    for checkpoint in listing.checkpoints:
        if checkpoint.version >= first_commit - 1:
            return range(checkpoint.version, latest + 1)
    raise _missing(first_commit - 1)


def segment_at(listing: LogListing, version: int | None = None) -> LogSegment:
    """The shortest segment for `version` (None: the latest): its checkpoint is the newest.

    Raises DeltaLogError where the log is empty, has no such version, or misses a commit it needs.
    """
    latest = listing.latest_version
    if version is None:
        version = latest
    if not 0 <= version <= latest:
        raise DeltaLogError(f"version {version} does not exist: the log ends at {latest}")
    checkpoint: Checkpoint | None = None
    for candidate in listing.checkpoints:  # of one version the first is the preferred one
        if candidate.version > version:
            break
        if checkpoint is None or candidate.version > checkpoint.version:
            checkpoint = candidate
    start = 0 if checkpoint is None else checkpoint.version + 1
    commits = []
    for number in range(start, version + 1):
        file = listing.commits.get(number)
        if file is None:
            raise _missing(number)
        commits.append(CommitFile(number, file))
    return LogSegment(
        version, checkpoint, tuple(commits), _cover(commits, listing.compactions, version)
    )


def _missing(version: int) -> DeltaLogError:
    return DeltaLogError("the log has a gap: no commit and no checkpoint after it", version)


def _cover(
    commits: list[CommitFile], compactions: Iterable[Compaction], version: int
) -> tuple[CommitFile | Compaction, ...]:
    """`commits` with runs replaced by the compaction that reaches furthest from each start."""
    furthest: dict[int, Compaction] = {}
    for compaction in compactions:  # ascending by end, so the last that fits stays
        if compaction.end <= version:
            furthest[compaction.start] = compaction
    cover: list[CommitFile | Compaction] = []
    covered = -1
    for commit in commits:
        if commit.version <= covered:
            continue
        compaction_here = furthest.get(commit.version)
        if compaction_here is None:
            cover.append(commit)
        else:
            cover.append(compaction_here)
            covered = compaction_here.end
    return tuple(cover)
