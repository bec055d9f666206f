"""Answers: plan, prune, render. What the table routes of the API call.

request ──► snapshot (versions) ──► format ──► selection (prune) ──► lines (render)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby

import pyarrow as pa

from headgate.errors import UnsignablePath, UnsupportedOperation
from headgate.manifest.read import ManifestReader
from headgate.model.sharing import Capabilities, Table
from headgate.predicates.bind import BoundPredicate, bind, unused
from headgate.predicates.parse_json import parse_json_hint
from headgate.predicates.parse_sql import parse_sql_hints
from headgate.predicates.tree import And, Predicate
from headgate.query.formats import ResponseFormat, metadata_line, negotiate, protocol_line
from headgate.query.prune import Selection, select
from headgate.query.render import LineRenderer, Stamp
from headgate.query.versions import Snapshot, snapshot_at
from headgate.storage.base import UrlSigner

# Record batches that are fetched together, and so held in memory, while an answer streams.
_FETCH_BATCHES = 8


@dataclass(frozen=True, slots=True)
class QueryServices:
    """What answering needs: manifests, a signer for each table root, the lifetime of URLs."""

    reader: ManifestReader
    signer: Callable[[str], UrlSigner]
    url_ttl_s: int


@dataclass(frozen=True, slots=True)
class Answer:
    """NDJSON lines, lazily, and what the response's headers say of them."""

    version: int
    format: ResponseFormat
    lines: Iterator[bytes | memoryview]
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SnapshotQuery:
    """A /query for one version: `version`, `timestamp` or neither for the latest."""

    version: int | None = None
    timestamp: str | None = None
    predicate_hints: Sequence[str] = ()
    json_predicate_hints: str | None = None
    limit_hint: int | None = None
    file_id_hash: ResponseFormat | None = None

    @property
    def travels(self) -> bool:
        return self.version is not None or self.timestamp is not None


def metadata(
    services: QueryServices, table: Table, capabilities: Capabilities, query: SnapshotQuery
) -> Answer:
    """The protocol and metaData lines of a table."""
    snapshot = snapshot_at(services.reader, table, query.version, query.timestamp)
    chosen = negotiate(capabilities, snapshot.change, snapshot.totals)
    return Answer(snapshot.version, chosen, _opening(snapshot, chosen, query))


def files(
    services: QueryServices, table: Table, capabilities: Capabilities, query: SnapshotQuery
) -> Answer:
    """The protocol, metaData and file lines of a table at one version."""
    snapshot = snapshot_at(services.reader, table, query.version, query.timestamp)
    chosen = negotiate(capabilities, snapshot.change, snapshot.totals)
    predicate, ignored = plan_predicate(snapshot, query)
    selection = select(services.reader, snapshot, predicate, query.limit_hint)
    stamp = Stamp(snapshot.version, snapshot.timestamp_ms) if query.travels else None
    renderer = LineRenderer(
        chosen,
        services.signer(snapshot.head.location),
        services.url_ttl_s,
        stamp,
        query.file_id_hash,
    )

    lines = _file_lines(services.reader, snapshot, selection, renderer)
    try:
        # Before the response begins, so that what is wrong with every file is a proper error.
        first = next(lines, b"")
    except UnsignablePath:
        raise UnsupportedOperation(
            f"Table '{table.full_name}' has files in storage that this server cannot share."
        ) from None
    headers = {
        "Headgate-Files-Considered": str(selection.considered),
        "Headgate-Files-Kept": str(selection.kept),
    }
    if ignored:
        headers["Headgate-Hints-Unused"] = "; ".join(ignored)[:1000]
    whole = chain(_opening(snapshot, chosen, query), (first,), lines)
    return Answer(snapshot.version, chosen, whole, headers)


def plan_predicate(
    snapshot: Snapshot, query: SnapshotQuery
) -> tuple[BoundPredicate | None, list[str]]:
    """All hints of a query as one bound predicate, and why parts of them are not used."""
    hints = parse_hints(query)
    if not hints:
        return None, []
    metadata = snapshot.change.metadata
    bound = bind(And(tuple(hints)), metadata.schema, metadata.partition_columns)
    return bound, unused(bound)


def parse_hints(query: SnapshotQuery) -> list[Predicate]:
    """The predicates that a query's hints mean, all of which must hold: SQL first, then JSON."""
    hints: list[Predicate] = []
    if query.predicate_hints:
        hints += parse_sql_hints(query.predicate_hints)
    if query.json_predicate_hints:
        hints.append(parse_json_hint(query.json_predicate_hints))
    return hints


def _opening(
    snapshot: Snapshot, chosen: ResponseFormat, query: SnapshotQuery
) -> Iterator[bytes | memoryview]:
    version = snapshot.version if query.travels else None
    yield protocol_line(chosen, snapshot.change.protocol)
    yield metadata_line(chosen, snapshot.change.metadata, snapshot.totals, version)


def _file_lines(
    reader: ManifestReader, snapshot: Snapshot, selection: Selection, renderer: LineRenderer
) -> Iterator[memoryview]:
    for rows in kept_files(reader, snapshot, selection):
        yield renderer.lines(rows)


def kept_files(
    reader: ManifestReader, snapshot: Snapshot, selection: Selection
) -> Iterator[pa.RecordBatch]:
    """The render rows (`manifest.rows.RENDER_FIELDS`) of a selection: a batch for each of its
    picks, then one for each batch of its tail. A few batches at a time are in memory.
    """
    table_id, base = snapshot.head.table_id, snapshot.epoch.base
    for part, of_part in groupby(selection.picks, key=lambda pick: pick.part):
        picks = list(of_part)
        for start in range(0, len(picks), _FETCH_BATCHES):
            group = picks[start : start + _FETCH_BATCHES]
            batches = reader.render_batches(table_id, base, part, [p.render for p in group])
            for pick, batch in zip(group, batches, strict=True):
                yield batch if pick.rows is None else batch.take(pick.rows)
    yield from selection.tail
