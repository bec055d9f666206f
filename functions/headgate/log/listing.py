"""What lies in `_delta_log`: commits, complete checkpoints and log compaction files.

Source: Delta protocol, "Delta Log Entries", "Checkpoints", "Log Compaction Files".
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from headgate.errors import DeltaLogError
from headgate.storage.base import ObjectInfo, ObjectStore

LOG_DIR = "_delta_log"
SIDECAR_DIR = f"{LOG_DIR}/_sidecars"

_NAME = re.compile(
    r"(?P<version>\d{20})\."
    r"(?:(?P<commit>json)"
    r"|(?P<classic>checkpoint\.parquet)"
    r"|checkpoint\.(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet"
    r"|checkpoint\.(?P<uuid>[^.]+)\.(?P<format>json|parquet)"
    r"|(?P<end>\d{20})\.compacted\.json)"
)


class CheckpointKind(StrEnum):
    """How a checkpoint's files are named; `CLASSIC` ones may hold the v2 specification too."""

    CLASSIC = "classic"
    MULTI_PART = "multi-part"
    V2_PARQUET = "v2 parquet"
    V2_JSON = "v2 json"


# Which of several complete checkpoints of one version is read: the forms that are written whole
# come before the one that is not.
_PREFERENCE = (
    CheckpointKind.V2_PARQUET,
    CheckpointKind.V2_JSON,
    CheckpointKind.CLASSIC,
    CheckpointKind.MULTI_PART,
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One complete checkpoint: its top-level files, parts in order."""

    version: int
    kind: CheckpointKind
    files: tuple[ObjectInfo, ...]

    @property
    def size_bytes(self) -> int:
        """Of the top-level files; sidecars come on top."""
        return sum(file.size_bytes for file in self.files)

    @property
    def modified_ms(self) -> int:
        """The time that stands in for the commit's where only the checkpoint is left."""
        return min(file.modified_ms for file in self.files)


@dataclass(frozen=True, slots=True)
class Compaction:
    """A log compaction file: the reconciled actions of versions `start` to `end`, both included."""

    start: int
    end: int
    file: ObjectInfo


@dataclass(frozen=True, slots=True)
class LogListing:
    """The log's files. `commits` by version, ascending; `checkpoints` ascending by version, of
    one version the preferred first; `compactions` ascending by (start, end).
    """

    commits: Mapping[int, ObjectInfo]
    checkpoints: tuple[Checkpoint, ...]
    compactions: tuple[Compaction, ...]

    @property
    def latest_version(self) -> int:
        """The greatest version that a commit or a complete checkpoint names.

        Raises DeltaLogError where there is neither.
        """
        versions = [*self.commits, *(checkpoint.version for checkpoint in self.checkpoints)]
        if not versions:
            raise DeltaLogError("not a Delta table: its _delta_log holds no commit")
        return max(versions)


def commit_key(version: int) -> str:
    """The key of a version's commit below the table's root."""
    return f"{LOG_DIR}/{version:020}.json"


def list_log(store: ObjectStore, after_version: int | None = None) -> LogListing:
    """The log of the table whose root `store` is, or the part of it after `after_version`.

    The whole log is listed, so the `_last_checkpoint` hint, which may be stale or damaged, is not
    needed. Names that the protocol does not give to commits, checkpoints or compaction files are
    passed over (checksums, temporary files, staged commits).
    """
    after = None if after_version is None else commit_key(after_version)
    return parse_listing(_version_files(store, after))


def _version_files(store: ObjectStore, after: str | None) -> Iterable[ObjectInfo]:
    # Every file that belongs to a version starts with a digit, and digits sort before the
    # underscore of `_sidecars` and `_staged_commits`, which may hold many objects.
    for info in store.list(LOG_DIR, after):
        if info.key.removeprefix(f"{LOG_DIR}/") > ":":
            return
        yield info


def parse_listing(files: Iterable[ObjectInfo]) -> LogListing:
    """Sorts the objects of a `_delta_log` by what their names say.

    An empty checkpoint is what an interrupted writer left, and is passed over; an empty commit is
    a version without actions. Multi-part checkpoints with missing parts are passed over.
    """
    commits: dict[int, ObjectInfo] = {}
    checkpoints: list[Checkpoint] = []
    parts: dict[tuple[int, int], dict[int, ObjectInfo]] = {}
    compactions: list[Compaction] = []
    for info in files:
        match = _NAME.fullmatch(info.key.removeprefix(f"{LOG_DIR}/"))
        if match is None:
            continue
        version = int(match["version"])
        if match["commit"]:
            commits[version] = info
        elif info.size_bytes == 0:
            continue
        elif match["end"]:
            if int(match["end"]) > version:
                compactions.append(Compaction(version, int(match["end"]), info))
        elif match["part"]:
            parts.setdefault((version, int(match["parts"])), {})[int(match["part"])] = info
        elif match["classic"]:
            checkpoints.append(Checkpoint(version, CheckpointKind.CLASSIC, (info,)))
        else:
            kind = (
                CheckpointKind.V2_JSON if match["format"] == "json" else CheckpointKind.V2_PARQUET
            )
            checkpoints.append(Checkpoint(version, kind, (info,)))
    for (version, count), found in parts.items():
        if found.keys() == set(range(1, count + 1)):
            in_order = tuple(found[part] for part in range(1, count + 1))
            checkpoints.append(Checkpoint(version, CheckpointKind.MULTI_PART, in_order))
    return LogListing(
        commits=dict(sorted(commits.items())),
        checkpoints=tuple(
            sorted(
                checkpoints, key=lambda c: (c.version, _PREFERENCE.index(c.kind), c.files[0].key)
            )
        ),
        compactions=tuple(sorted(compactions, key=lambda c: (c.start, c.end))),
    )
