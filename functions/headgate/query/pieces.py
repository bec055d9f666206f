"""A selection followed back to the zones, tail batches and files that it was made from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from typing import Any

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
    NONE_KEPT = "looked at, not kept"  # the bounds of its files rule them out
    RULED_OUT = "ruled out by its zone"  # its files were not looked at
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


@dataclass(frozen=True, slots=True)
class _Zone:
    place: int
    row: dict[str, Any]
    pick: Pick | None
    fate: Fate


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
        return self._walk[0]

    def zones(self, measure: Measure) -> Iterator[Piece]:
        live = self._walk[1]
        for zone, extent in zip(self._zones, measure(ZoneBounds(self.index.zones)), strict=True):
            kept = 0 if zone.pick is None else zone.pick.count
            files = live.get(zone.place, zone.row["files"])
            fate = Fate.KEPT if kept and kept == files else zone.fate
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
        for zone, batch in self._prune_batches(self._zones):
            live = matching(None, batch, self.index.touched).to_pylist()
            extents = measure(FileBounds(batch))
            if zone.fate in (Fate.RULED_OUT, Fate.NOT_REACHED):
                fates = [zone.fate] * len(live)
            else:
                might = set(matching(self.predicate, batch, self.index.touched).to_pylist())
                kept = set(_kept(zone.pick, batch).to_pylist())
                fates = [_file_fate(row in might, row in kept) for row in live]
            for row, fate in zip(live, fates, strict=True):
                yield Piece(False, 1, int(fate is Fate.KEPT), fate, extents[row])
        for batch, fates in self._tail:
            for fate, extent in zip(fates, measure(FileBounds(batch)), strict=True):
                yield Piece(True, 1, int(fate is Fate.KEPT), fate, extent)

    @cached_property
    def _zones(self) -> list[_Zone]:
        columns = [name for name in self.index.zones.schema.names if ":" not in name]
        rows = self.index.zones.select(columns).to_pylist()
        matches = [True] * len(rows)
        if self.predicate is not None:
            matches = might_match(self.predicate, ZoneBounds(self.index.zones)).to_pylist()
        picks = {(pick.part, pick.render.offset): pick for pick in self.selection.picks}
        picked = [picks.get((row["part"], row["render_offset"])) for row in rows]
        last = max((place for place, pick in enumerate(picked) if pick is not None), default=-1)
        # Where the limit was reached in the tail, or not at all, every zone had its turn.
        end = last if self._limit_reached and not self.selection.tail else len(rows)
        zones = []
        for place, (row, pick, match) in enumerate(zip(rows, picked, matches, strict=True)):
            if pick is not None:
                fate = Fate.PARTLY
            elif not match:
                fate = Fate.RULED_OUT
            else:
                fate = Fate.NONE_KEPT if place <= end else Fate.NOT_REACHED
            zones.append(_Zone(place, row, pick, fate))
        return zones

    @cached_property
    def _tail(self) -> list[tuple[pa.RecordBatch, list[Fate]]]:
        """Each batch of live tail rows that is not empty, and what became of its rows."""
        found = []
        taken = iter(self.selection.tail)
        for batch in self.index.tail:
            might = matching(self.predicate, batch, None).to_pylist()
            # Rows are taken in order, until the limit.
            kept = next(taken).num_rows if might and not self._exhausted(found) else 0
            keep = set(might[:kept])
            fates = [_file_fate(row in might, row in keep) for row in range(batch.num_rows)]
            if fates:
                found.append((batch, fates))
        return found
