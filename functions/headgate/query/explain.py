"""Why a query keeps the files that it keeps: what `headgate explain` shows.

The selection is the one that answers (`query.prune.select`), and reads are those of an answer;
what is asked of the index only to explain is not among them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow.compute as pc

from headgate.manifest.read import ManifestReader
from headgate.model.sharing import Table
from headgate.predicates.bind import BoundColumn, BoundPredicate, bind, unused
from headgate.predicates.bounds import Bounds
from headgate.predicates.tree import And, Predicate
from headgate.predicates.wording import BoundWording, predicate_text
from headgate.query.answer import SnapshotQuery, kept_files, parse_hints, plan_predicate
from headgate.query.extents import UNKNOWN, Extent, extents_of, range_columns, wanted
from headgate.query.pieces import Measure, Piece, Pieces
from headgate.query.prune import read_index, select
from headgate.query.reads import CountingStore, Reads
from headgate.query.versions import Snapshot, snapshot_at
from headgate.storage.base import ObjectStore

# Up to so many live files each is told of by itself.
EACH_FILE_UP_TO = 600


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One of the parts that must all hold: as parsed, as compared, and how many live files it
    rules out on its own. `unused`: why parts of it are not used.
    """

    parsed: str
    compared: str
    unused: tuple[str, ...]
    ruled_out: int


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """A column that the predicate compares with a range, and the values that can match."""

    name: str
    bound: BoundColumn
    wanted: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that the answer would list. `rows` are those that readers see; None if not told."""

    path: str
    size_bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a query of one version keeps and why.

    `zones` and `tail` are in the order of the answer; `files` has one piece a live file where
    there are at most EACH_FILE_UP_TO, and is else None. `rows_kept` is None where a kept file
    does not tell its rows. Sizes of data are bytes.
    """

    table: str
    version: int
    timestamp_ms: int
    limit_rows: int | None
    hints: tuple[str, ...]
    conjuncts: tuple[Conjunct, ...]
    unused: tuple[str, ...]
    column: RangeColumn | None
    zones: tuple[Piece, ...]
    tail: tuple[Piece, ...]
    files: tuple[Piece, ...] | None
    files_considered: int
    files_kept: int
    bytes_considered: int
    bytes_kept: int
    rows_kept: int | None
    first_files: tuple[KeptFile, ...]
    reads: tuple[Reads, ...]
    wording: BoundWording


def explain(
    store: ObjectStore, table: Table, query: SnapshotQuery, first_files: int = 10
) -> Explanation:
    """What `query.answer.files` would list for `query`, from the index in `store`, and why.

    Raises what answering raises: ManifestNotReady, UnsupportedOperation, InvalidParameter.
    """
    counting = CountingStore(store)
    reader = ManifestReader(counting)
    snapshot = snapshot_at(reader, table, query.version, query.timestamp)
    predicate, ignored = plan_predicate(snapshot, query)
    selection = select(reader, snapshot, predicate, query.limit_hint)
    bytes_kept = 0
    first: list[tuple[str, int | None]] = []
    for batch in kept_files(reader, snapshot, selection):
        bytes_kept += pc.sum(batch.column("size")).as_py() or 0
        shown = batch.slice(0, max(0, first_files - len(first)))
        first += zip(shown["path"].to_pylist(), shown["size"].to_pylist(), strict=True)
    reads = counting.reads()

    index = read_index(reader, snapshot)
    pieces = Pieces(reader, snapshot, index, selection, predicate, query.limit_hint, first_files)
    wording = BoundWording(snapshot.change.metadata.schema)
    by_file = selection.considered <= EACH_FILE_UP_TO

    def drawn(measure: Measure) -> Iterator[Piece]:
        return (
            pieces.files(measure) if by_file else chain(pieces.zones(measure), pieces.tail(measure))
        )

    column = _range_column(predicate, drawn, wording)
    measure = _measure(None if column is None else column.bound)
    return Explanation(
        table=table.full_name,
        version=snapshot.version,
        timestamp_ms=snapshot.timestamp_ms,
        limit_rows=query.limit_hint,
        hints=(*query.predicate_hints, *filter(None, [query.json_predicate_hints])),
        conjuncts=tuple(_conjuncts(reader, snapshot, parse_hints(query), wording)),
        unused=tuple(ignored),
        column=column,
        zones=tuple(pieces.zones(measure)),
        tail=tuple(pieces.tail(measure)),
        files=tuple(pieces.files(measure)) if by_file else None,
        files_considered=selection.considered,
        files_kept=selection.kept,
        bytes_considered=snapshot.totals.bytes,
        bytes_kept=bytes_kept,
        rows_kept=pieces.kept_rows.total,
        first_files=tuple(
            KeptFile(path, size or 0, rows)
            for (path, size), rows in zip(first, pieces.kept_rows.first, strict=True)
        ),
        reads=reads,
        wording=wording,
    )


def _conjuncts(
    reader: ManifestReader,
    snapshot: Snapshot,
    hints: Sequence[Predicate],
    wording: BoundWording,
) -> Iterator[Conjunct]:
    metadata = snapshot.change.metadata
    for part in _flat(hints):
        bound = bind(part, metadata.schema, metadata.partition_columns)
        alone = select(reader, snapshot, bound, None)
        yield Conjunct(
            predicate_text(part),
            wording.text(bound),
            tuple(unused(bound)),
            alone.considered - alone.kept,
        )


def _flat(parts: Sequence[Predicate]) -> Iterator[Predicate]:
    for part in parts:
        if isinstance(part, And):
            yield from _flat(part.children)
        else:
            yield part


def _range_column(
    predicate: BoundPredicate | None,
    drawn: Callable[[Measure], Iterator[Piece]],
    wording: BoundWording,
) -> RangeColumn | None:
    """The first whose values the predicate limits, among those that what is drawn has bounds of."""
    if predicate is None:
        return None
    known = []
    for column in dict.fromkeys(range_columns(predicate)):
        measure = _measure(column)
        if any(piece.extent != UNKNOWN for piece in drawn(measure)):
            ranges = wanted(predicate, column)
            known.append(RangeColumn(wording.name(column.physical), column, ranges))
    limited = [column for column in known if column.wanted != (UNKNOWN,)]
    return next(iter(limited or known), None)


def _measure(column: BoundColumn | None) -> Measure:
    def extents(bounds: Bounds) -> list[Extent]:
        return [UNKNOWN] * bounds.length if column is None else extents_of(bounds, column)

    return extents
