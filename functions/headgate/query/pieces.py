"""A selection followed back to the zones, tail batches and files that it was made from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.bounds import FileBounds, ZoneBounds
from headgate.manifest.read import ManifestReader, Span
from headgate.predicates.bind import BoundPredicate
from headgate.predicates.bounds import Bounds
from headgate.predicates.evaluate import might_match
from headgate.query.extents import Extent, around
from headgate.query.prune import Pick, Selection, SnapshotIndex, live_rows, matching
from headgate.query.versions import Snapshot

# Prune batches that are fetched, and so held in memory, together.
_FETCH_BATCHES = 8

# Extents of what `Bounds` describe: of the column that a picture is about, or none.
Measure = Callable[[Bounds], list[Extent]]


class Fate(StrEnum):
    """What became of a zone, a batch of the tail, or a file."""

    KEPT = "kept"
    PARTLY = "kept in part"
    NONE_KEPT = "ruled out by file bounds"
    RULED_OUT = "ruled out by zone bounds"  # its files were not looked at
    NOT_REACHED = "after the limit"


@dataclass(frozen=True, slots=True)
class Piece:
    """A zone of the base, a batch of the tail, or one file of either.

    `files` are those it lists; of a zone that was not looked at, files that a later commit removed
    are among them.
    """

    in_tail: bool
    files: int
    kept: int
    fate: Fate
    extent: Extent


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Rows that readers see in the kept files: all of them together, and those of the first files.

    None stands for files that do not tell.
    """

    total: int | None
    first: tuple[int | None, ...]


@dataclass(frozen=True)
class Pieces:
    """What `query.prune.select` made of each part of the index it was given."""

    reader: ManifestReader
    snapshot: Snapshot
    index: SnapshotIndex
    selection: Selection
    predicate: BoundPredicate | None
    limit_rows: int | None
    first_files: int

    @cached_property
    def kept_rows(self) -> KeptRows:
        walk = self._walk
        return KeptRows(walk.known_rows if walk.all_known else None, tuple(walk.first))

    def zones(self, measure: Measure) -> Iterator[Piece]:
        """One piece a zone of the base, in its order."""
        extents = measure(ZoneBounds(self.index.zones))
        for place, (row, (pick, fate), extent) in enumerate(
            zip(self._zone_rows, self._zone_fates, extents, strict=True)
        ):
            kept = 0 if pick is None else pick.count
            files = self._walk.live.get(place, row["files"])
            if kept == files:
                fate = Fate.KEPT
            yield Piece(False, files, kept, fate, extent)

    def tail(self, measure: Measure) -> Iterator[Piece]:
        for batch, fates in self._tail:
            kept = fates.count(Fate.KEPT)
            fate = fates[0] if len(set(fates)) == 1 else Fate.PARTLY
            if not kept:
                fate = Fate.NOT_REACHED if Fate.NOT_REACHED in fates else Fate.NONE_KEPT
            yield Piece(True, len(fates), kept, fate, around(measure(FileBounds(batch))))

    def files(self, measure: Measure) -> Iterator[Piece]:
        """One piece a live file, in the order of the answer."""
        for (place, _), batch in self._prune_batches(list(enumerate(self._zone_rows))):
            pick, zone_fate = self._zone_fates[place]
            fates: list[Fate]
            live = matching(None, batch, self.index.touched).to_pylist()
            extents = measure(FileBounds(batch))
            if zone_fate in (Fate.RULED_OUT, Fate.NOT_REACHED):
                fates = [zone_fate] * len(live)
            else:
                might = set(matching(self.predicate, batch, self.index.touched).to_pylist())
                kept = set(_kept(pick, batch).to_pylist())
                fates = [_file_fate(row in might, row in kept) for row in live]
            for row, fate in zip(live, fates, strict=True):
                yield Piece(False, 1, int(fate is Fate.KEPT), fate, extents[row])
        for batch, fates in self._tail:
            for fate, extent in zip(fates, measure(FileBounds(batch)), strict=True):
                yield Piece(True, 1, int(fate is Fate.KEPT), fate, extent)

    @cached_property
    def _zone_fates(self) -> list[tuple[Pick | None, Fate]]:
        rows = self._zone_rows
        matches = [True] * len(rows)
        if self.predicate is not None:
            matches = might_match(self.predicate, ZoneBounds(self.index.zones)).to_pylist()
        picks = {(pick.part, pick.render.offset): pick for pick in self.selection.picks}
        picked = [picks.get((row["part"], row["render_offset"])) for row in rows]
        last = max((place for place, pick in enumerate(picked) if pick is not None), default=-1)
        # Where the limit was reached in the tail, or not at all, every zone had its turn.
        end = last if self._limit_reached and not self.selection.tail else len(rows)
        fates: list[tuple[Pick | None, Fate]] = []
        for place, (pick, match) in enumerate(zip(picked, matches, strict=True)):
            if pick is not None:
                fates.append((pick, Fate.PARTLY))
            elif not match:
                fates.append((None, Fate.RULED_OUT))
            else:
                fates.append((None, Fate.NONE_KEPT if place <= end else Fate.NOT_REACHED))
        return fates

    @cached_property
    def _tail(self) -> list[tuple[pa.RecordBatch, list[Fate]]]:
        """Each batch of live tail rows that is not empty, and what became of its rows."""
        found = []
        taken = iter(self.selection.tail)
        for batch in self.index.tail:
            if not batch.num_rows:
                continue
            might = matching(self.predicate, batch, None).to_pylist()
            # Of each batch with a match the selection has the first ones, until the limit.
            rows = next(taken, None) if might else None
            kept = set(might[: 0 if rows is None else rows.num_rows])
            might_set = set(might)
            fates = [_file_fate(row in might_set, row in kept) for row in range(batch.num_rows)]
            found.append((batch, fates))
        return found

    @property
    def _limit_reached(self) -> bool:
        return self.limit_rows is not None and self._walk.known_rows >= self.limit_rows

    @cached_property
    def _walk(self) -> "_Walk":
        """What takes one pass over the bounds of the zones that files are kept of."""
        picks = {(pick.part, pick.render.offset): pick for pick in self.selection.picks}
        walk = _Walk()
        places = [
            (place, row)
            for place, row in enumerate(self._zone_rows)
            if (row["part"], row["render_offset"]) in picks
        ]
        for (place, row), batch in self._prune_batches(places):
            live = matching(None, batch, self.index.touched)
            walk.live[place] = len(live)
            pick = picks[row["part"], row["render_offset"]]
            walk.add(batch.take(_kept(pick, batch)), self.first_files)
        for batch in self.selection.tail:
            walk.add(batch, self.first_files)
        return walk

    @cached_property
    def _zone_rows(self) -> list[dict[str, int]]:
        zones = self.index.zones
        columns = [name for name in zones.schema.names if ":" not in name]
        rows: list[dict[str, int]] = zones.select(columns).to_pylist()
        return rows

    def _prune_batches(
        self, zones: Sequence[tuple[int, dict[str, int]]]
    ) -> Iterator[tuple[tuple[int, dict[str, int]], pa.RecordBatch]]:
        """The bounds of the files of zones (place and row), a few zones at a time."""
        table_id, base = self.snapshot.head.table_id, self.snapshot.epoch.base
        for part, of_part in groupby(zones, key=lambda zone: zone[1]["part"]):
            numbered = list(of_part)
            for start in range(0, len(numbered), _FETCH_BATCHES):
                group = numbered[start : start + _FETCH_BATCHES]
                spans = [
                    Span(row["prune_header"], row["prune_offset"], row["prune_length"])
                    for _, row in group
                ]
                batches = self.reader.prune_batches(table_id, base, part, spans)
                yield from zip(group, batches, strict=True)


@dataclass
class _Walk:
    """Live files by the place of their zone, and rows of kept files as far as they are told."""

    live: dict[int, int] = field(default_factory=dict)
    known_rows: int = 0
    all_known: bool = True
    first: list[int | None] = field(default_factory=list)

    def add(self, kept: pa.RecordBatch, first_files: int) -> None:
        told = pc.is_valid(kept.column("num_records"))
        rows = pc.if_else(told, live_rows(kept), None)
        self.all_known = self.all_known and rows.null_count == 0
        self.known_rows += pc.sum(live_rows(kept)).as_py() or 0
        self.first += rows.slice(0, max(0, first_files - len(self.first))).to_pylist()


def _kept(pick: Pick | None, batch: pa.RecordBatch) -> pa.Array:
    """Positions of the kept files of a zone's batch."""
    if pick is None:
        return pa.array([], pa.int64())
    return pa.array(range(batch.num_rows), pa.int64()) if pick.rows is None else pick.rows


def _file_fate(might_match: bool, kept: bool) -> Fate:
    if kept:
        return Fate.KEPT
    return Fate.NOT_REACHED if might_match else Fate.NONE_KEPT


def merged(pieces: Sequence[Piece], most: int) -> list[Piece]:
    """At most about `most` pieces: neighbours are made one, but for those of base and tail."""
    size = -(-len(pieces) // most) or 1
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and len(groups[-1]) < size and groups[-1][0].in_tail is piece.in_tail:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [group[0] if len(group) == 1 else _merged(group) for group in groups]


def _merged(group: Sequence[Piece]) -> Piece:
    fates = {piece.fate for piece in group}
    if len(fates) == 1:
        [fate] = fates
    elif fates & {Fate.KEPT, Fate.PARTLY}:
        fate = Fate.PARTLY
    else:
        fate = next(fate for fate in (Fate.NONE_KEPT, Fate.RULED_OUT) if fate in fates)
    return Piece(
        group[0].in_tail,
        sum(piece.files for piece in group),
        sum(piece.kept for piece in group),
        fate,
        around([piece.extent for piece in group]),
    )
