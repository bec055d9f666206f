"""Why a query keeps the files that it keeps: what `headgate explain` shows.

The selection is the one that answers (`query.prune.select`), and reads are those of an answer;
what is asked of the index only to explain is not among them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.bounds import FileBounds, ZoneBounds
from headgate.manifest.read import ManifestReader, Span
from headgate.model.sharing import Table
from headgate.predicates.bind import BoundColumn, BoundPredicate, bind, unused
from headgate.predicates.evaluate import might_match
from headgate.predicates.tree import And, Predicate
from headgate.predicates.wording import BoundWording, predicate_text
from headgate.query.answer import SnapshotQuery, kept_files, parse_hints, plan_predicate
from headgate.query.extents import Extent, around, extents_of, range_columns, wanted
from headgate.query.prune import (
    Pick,
    Selection,
    SnapshotIndex,
    live_rows,
    matching,
    read_index,
    select,
)
from headgate.query.reads import CountingStore, Reads
from headgate.query.versions import Snapshot, snapshot_at
from headgate.storage.base import ObjectStore

# Up to so many live files each is told of by itself.
EACH_FILE_UP_TO = 600
# Prune batches that are fetched, and so held in memory, together.
_FETCH_BATCHES = 8


class Fate(StrEnum):
    """What became of a zone, a batch of the tail or a file."""

    KEPT = "kept"
    PARTLY = "kept in part"
    NONE_KEPT = "looked at, not kept"  # by the bounds of its files
    RULED_OUT = "ruled out by its zone"  # by the zone's bounds: its files were not looked at
    NOT_REACHED = "after the limit"


@dataclass(frozen=True, slots=True)
class Piece:
    """A zone of the base, a batch of the tail, or one file of either.

    `files` are those it lists (of a zone: superseded ones too). `extent` is its range of the
    column that `Explanation.column` names; unknown where there is none.
    """

    in_tail: bool
    files: int
    kept: int
    fate: Fate
    extent: Extent


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
    """The first column that the predicate compares with a range, and the ranges that it wants."""

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
    sizes: list[int] = []
    first: list[tuple[str, int]] = []
    for batch in kept_files(reader, snapshot, selection):
        sizes.append(pc.sum(batch.column("size")).as_py() or 0)
        missing = max(0, first_files - len(first))
        rows = batch.slice(0, missing)
        first += zip(rows["path"].to_pylist(), rows["size"].to_pylist(), strict=True)
    reads = counting.reads()

    index = read_index(reader, snapshot)
    rows_of = _rows_of_picks(reader, snapshot, index, selection)
    rows_of += [live_rows_or_null(batch) for batch in selection.tail]
    known = all(rows.null_count == 0 for rows in rows_of)
    rows_kept = sum(pc.sum(rows).as_py() or 0 for rows in rows_of)
    first_rows = [count for rows in rows_of for count in rows.slice(0, first_files).to_pylist()]
    reached = (
        query.limit_hint is not None
        and sum(pc.sum(pc.fill_null(rows, 0)).as_py() or 0 for rows in rows_of) >= query.limit_hint
    )
    wording = BoundWording(snapshot.change.metadata.schema)
    looker = _Looker(reader, snapshot, index, selection, predicate, reached)
    column = _range_column(predicate, looker, wording)
    return Explanation(
        table=table.full_name,
        version=snapshot.version,
        timestamp_ms=snapshot.timestamp_ms,
        limit_rows=query.limit_hint,
        hints=(*query.predicate_hints, *filter(None, [query.json_predicate_hints])),
        conjuncts=tuple(_conjuncts(reader, snapshot, parse_hints(query), wording)),
        unused=tuple(ignored),
        column=column,
        zones=tuple(looker.zones(column)),
        tail=tuple(looker.tail(column)),
        files=tuple(looker.files(column)) if selection.considered <= EACH_FILE_UP_TO else None,
        files_considered=selection.considered,
        files_kept=selection.kept,
        bytes_considered=snapshot.totals.bytes,
        bytes_kept=sum(sizes),
        rows_kept=rows_kept if known else None,
        first_files=tuple(
            KeptFile(path, size or 0, count)
            for (path, size), count in zip(first, first_rows, strict=False)
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
    predicate: BoundPredicate | None, looker: "_Looker", wording: BoundWording
) -> RangeColumn | None:
    """The first that files have bounds of."""
    if predicate is None:
        return None
    for column in dict.fromkeys(range_columns(predicate)):
        found = RangeColumn(wording.name(column.physical), column, wanted(predicate, column))
        if any(extent != _NOT_KNOWN for extent in looker.extents(found)):
            return found
    return None


_NOT_KNOWN = Extent(None, None)


@dataclass(frozen=True)
class _Looker:
    """Follows a selection back to the zones, batches and files that it was made from."""

    reader: ManifestReader
    snapshot: Snapshot
    index: SnapshotIndex
    selection: Selection
    predicate: BoundPredicate | None
    limit_reached: bool

    def extents(self, column: RangeColumn | None) -> Iterator[Extent]:
        yield from _extents(ZoneBounds(self.index.zones), column)
        for batch in self.index.tail:
            yield around(list(_extents(FileBounds(batch), column)))

    def zones(self, column: RangeColumn | None) -> Iterator[Piece]:
        live = self._live_files()
        extents = _extents(ZoneBounds(self.index.zones), column)
        for (zone, pick, fate), extent in zip(self._zone_fates(), extents, strict=True):
            kept = 0 if pick is None else pick.count
            if fate is Fate.KEPT and kept < live[_place(zone)]:
                fate = Fate.PARTLY
            yield Piece(False, zone["files"], kept, fate, extent)

    def tail(self, column: RangeColumn | None) -> Iterator[Piece]:
        for batch, kept, fates in self._tail_fates():
            extent = around(list(_extents(FileBounds(batch), column)))
            yield Piece(True, batch.num_rows, kept, _joint(fates), extent)

    def files(self, column: RangeColumn | None) -> Iterator[Piece]:
        """One piece a live file, in the order of the answer."""
        for zone, pick, fate in list(self._zone_fates()):
            batch = self._prune_batch(zone)
            live = matching(None, batch, self.index.touched).to_pylist()
            fates = self._file_fates(batch, live, fate, _kept_rows(pick, batch))
            extents = list(_extents(FileBounds(batch), column))
            for row, file_fate in zip(live, fates, strict=True):
                yield Piece(False, 1, int(file_fate is Fate.KEPT), file_fate, extents[row])
        for batch, _, file_fates in self._tail_fates():
            extents = list(_extents(FileBounds(batch), column))
            for file_fate, extent in zip(file_fates, extents, strict=True):
                yield Piece(True, 1, int(file_fate is Fate.KEPT), file_fate, extent)
