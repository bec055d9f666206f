"""When versions were committed.

Source: Delta protocol, "In-Commit Timestamps"; Delta's `DeltaHistoryManager` for the rest.
"""

from collections.abc import Iterable
from typing import Protocol

from headgate.errors import DeltaLogError
from headgate.model.actions import Metadata


class Stamped(Protocol):
    """A commit, as far as its own timestamp goes."""

    @property
    def version(self) -> int: ...

    @property
    def in_commit_timestamp_ms(self) -> int | None: ...


# What the property was called while the feature was a preview: such tables are still about.
_PREVIEW = "delta.enableInCommitTimestamps-preview"


def in_commit_timestamp(commit: Stamped, metadata: Metadata) -> int | None:
    """The commit's own timestamp in ms, or None where the table does not keep them.

    `metadata` is the table's as of the commit, its own change included: the commit that enables
    in-commit timestamps has one already. With it the enablement version in the table's
    configuration, meant for readers that know only the latest metadata, is not needed.
    Raises DeltaLogError where timestamps are enabled and the commit has none.
    """
    if metadata.configuration.get(_PREVIEW, "").lower() == "true":
        return commit.in_commit_timestamp_ms
    if not metadata.in_commit_timestamps_enabled:
        return None
    if commit.in_commit_timestamp_ms is None:
        raise DeltaLogError(
            "in-commit timestamps are enabled, but the commit has none", commit.version
        )
    return commit.in_commit_timestamp_ms


def commit_timestamps(commits: Iterable[tuple[int, int, int | None]]) -> list[int]:
    """The timestamps in ms of (version, file modification ms, in-commit timestamp or None), given
    in ascending order of versions.

    An in-commit timestamp stands as it is. A file's modification time, which copying may disturb,
    is put 1 ms after the version before it where it is not later.
    """
    timestamps: list[int] = []
    for _, modified_ms, in_commit_ms in commits:
        if in_commit_ms is not None:
            timestamps.append(in_commit_ms)
        elif timestamps:
            timestamps.append(max(modified_ms, timestamps[-1] + 1))
        else:
            timestamps.append(modified_ms)
    return timestamps
