"""The head of a table's manifest: the only mutable object. It names everything else.

    tables/<id>/head.json                    Head
    tables/<id>/base/<base>/zones.arrow      zone maps of one base
    tables/<id>/base/<base>/<part>.prune.arrow, <part>.render.arrow
    tables/<id>/tail/<segment>.files.arrow   file actions of a range of commits
    tables/<id>/tail/<segment>.commits.arrow one row per commit of that range

The normative description is docs/manifest-format.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from headgate.errors import ManifestError
from headgate.model.actions import Metadata, Protocol

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Totals:
    """What is live at a version.

    `records` counts physical rows (None where a file tells none); `deletion_vectors` counts the
    files that have one, which the parquet response format cannot carry.
    """

    files: int
    bytes: int
    records: int | None
    deletion_vectors: int


@dataclass(frozen=True, slots=True)
class Base:
    """The live files at an epoch's first version, as immutable parts."""

    id: str
    parts: tuple[str, ...]
    totals: Totals


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the tail: the file actions of the commits `first` to `last`, in commit order.

    A large commit may be spread over several segments with the same `first` and `last`.
    """

    id: str
    first: int
    last: int
    rows: int


@dataclass(frozen=True, slots=True)
class Epoch:
    """Versions `first` to `last`, answered by one base and the segments after `first`.

    `segments` may also hold the commit `first` itself: the base contains its effect, changes
    need its actions. `first_timestamp_ms` is the commit timestamp of `first`.
    """

    first: int
    last: int
    first_timestamp_ms: int
    base: Base
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """The protocol and metadata in effect from `version` on."""

    version: int
    protocol: Protocol
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a table cannot be served; `cause` is public."""

    cause: str
    version: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """Everything that is needed to plan a query: which objects answer which version.

    `history` and `epochs` ascend; `history[0].version <= epochs[0].first`. `state` is a
    fingerprint of the log and options that were indexed: an equal one needs no work.
    """

    table_id: str
    location: str
    version: int
    timestamp_ms: int
    totals: Totals
    history: tuple[SchemaChange, ...]
    epochs: tuple[Epoch, ...]
    state: str
    indexed_at_ms: int
    refusal: Refusal | None = None

    def in_effect(self, version: int) -> SchemaChange:
        """Protocol and metadata at a version of some epoch."""
        return max(
            (change for change in self.history if change.version <= version),
            key=lambda change: change.version,
        )

    def epoch_of(self, version: int) -> Epoch | None:
        """The last epoch that holds `version`, or None."""
        for epoch in reversed(self.epochs):
            if epoch.first <= version <= epoch.last:
                return epoch
        return None


def head_key(table_id: str) -> str:
    return f"tables/{table_id}/head.json"


def zones_key(table_id: str, base: str) -> str:
    return f"tables/{table_id}/base/{base}/zones.arrow"


def prune_key(table_id: str, base: str, part: str) -> str:
    return f"tables/{table_id}/base/{base}/{part}.prune.arrow"


def render_key(table_id: str, base: str, part: str) -> str:
    return f"tables/{table_id}/base/{base}/{part}.render.arrow"


def files_key(table_id: str, segment: str) -> str:
    return f"tables/{table_id}/tail/{segment}.files.arrow"


def commits_key(table_id: str, segment: str) -> str:
    return f"tables/{table_id}/tail/{segment}.commits.arrow"


def encode_head(head: Head) -> bytes:
    return orjson.dumps(
        {
            "format": FORMAT_VERSION,
            "tableId": head.table_id,
            "location": head.location,
            "version": head.version,
            "timestamp": head.timestamp_ms,
            "totals": _totals(head.totals),
            "history": [
                {
                    "version": change.version,
                    "protocol": change.protocol.to_json(),
                    "metaData": change.metadata.to_json(),
                }
                for change in head.history
            ],
            "epochs": [
                {
                    "first": epoch.first,
                    "last": epoch.last,
                    "firstTimestamp": epoch.first_timestamp_ms,
                    "base": {
                        "id": epoch.base.id,
                        "parts": epoch.base.parts,
                        "totals": _totals(epoch.base.totals),
                    },
                    "segments": [
                        {"id": s.id, "first": s.first, "last": s.last, "rows": s.rows}
                        for s in epoch.segments
                    ],
                }
                for epoch in head.epochs
            ],
            "state": head.state,
            "indexedAt": head.indexed_at_ms,
            "refusal": None
            if head.refusal is None
            else {"cause": head.refusal.cause, "version": head.refusal.version},
        }
    )


def decode_head(body: bytes) -> Head:
    """Raises ManifestError where the body is no head, or of a format version not known here."""
    try:
        document = orjson.loads(body)
        if document["format"] != FORMAT_VERSION:
            raise ManifestError(f"manifest format {document['format']} is not known; reindex")
        refusal = document["refusal"]
        return Head(
            table_id=document["tableId"],
            location=document["location"],
            version=document["version"],
            timestamp_ms=document["timestamp"],
            totals=Totals(**document["totals"]),
            history=tuple(
                SchemaChange(
                    change["version"],
                    Protocol.from_json(change["protocol"]),
                    Metadata.from_json(change["metaData"]),
                )
                for change in document["history"]
            ),
            epochs=tuple(_epoch(epoch) for epoch in document["epochs"]),
            state=document["state"],
            indexed_at_ms=document["indexedAt"],
            refusal=None if refusal is None else Refusal(refusal["cause"], refusal["version"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestError("the head of a manifest is damaged") from error


def _totals(totals: Totals) -> dict[str, int | None]:
    return asdict(totals)


def _epoch(document: Mapping[str, Any]) -> Epoch:
    base = document["base"]
    return Epoch(
        first=document["first"],
        last=document["last"],
        first_timestamp_ms=document["firstTimestamp"],
        base=Base(base["id"], tuple(base["parts"]), Totals(**base["totals"])),
        segments=tuple(Segment(**segment) for segment in document["segments"]),
    )
