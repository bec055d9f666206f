"""Which files answer a query: zone maps first, then the files of the zones that survive.

Nothing here reads what rendering needs, and nothing is kept per file that was not looked at: a
zone of which every file is wanted is picked whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.bounds import FileBounds, ZoneBounds
from headgate.manifest.read import ManifestReader, Span
from headgate.predicates.bind import (
    BoundAnd,
    BoundCompare,
    BoundConstant,
    BoundIn,
    BoundNull,
    BoundOr,
    BoundPredicate,
    BoundPrefix,
)
from headgate.predicates.evaluate import might_match
from headgate.predicates.tree import Unknown
from headgate.query.versions import Snapshot

# Zones that a limit fetches together at least: a round trip costs more than a few of them.
_LEAST_ZONES = 4


@dataclass(frozen=True, slots=True)
class Pick:
    """Files of one record batch of a base part: those at `rows`, or all where it is None."""

    part: int
    render: Span
    rows: pa.Array | None
    count: int


@dataclass(frozen=True, slots=True)
class Selection:
    """What answers a query: picks of the base in its order, then rows of the tail in theirs.

    `considered` counts the live files of the snapshot as far as they were looked at or ruled out.
    """

    picks: list[Pick]
    tail: list[pa.RecordBatch]
    considered: int
    kept: int


@dataclass(frozen=True, slots=True)
class SnapshotIndex:
    """What deciding starts from: the base's zone maps, the keys of base rows that no longer count
    (None where there are none), and the live rows of each tail segment.
    """

    zones: pa.RecordBatch
    touched: pa.Array | None
    tail: list[pa.RecordBatch]


class Limit:
    """Counts live rows down to a limitHint; files that tell no row count do not count."""

    def __init__(self, rows: int | None) -> None:
        self._left = rows

    @property
    def counts(self) -> bool:
        return self._left is not None

    @property
    def reached(self) -> bool:
        return self._left is not None and self._left <= 0

    def at_least(self, zones: Sequence[Mapping[str, int | None]]) -> int:
        """How many of `zones` to fetch together: no fewer can hold the rows that are left."""
        if self._left is None:
            return len(zones)
        rows = accumulate(zone["num_records"] or 0 for zone in zones)
        enough = next((n for n, known in enumerate(rows, 1) if known >= self._left), len(zones))
        return max(enough, _LEAST_ZONES)

    def take(self, files: pa.RecordBatch, rows: pa.Array) -> pa.Array:
        """The first of `rows` (positions in `files`) that suffice."""
        if self._left is None:
            return rows
        if self._left <= 0:
            return rows.slice(0, 0)
        live = live_rows(files).take(rows)
        sums = pc.cumulative_sum(live)
        enough = pc.index(pc.greater_equal(sums, self._left), True).as_py()
        if enough >= 0:
            self._left = 0
            return rows.slice(0, enough + 1)
        self._left -= pc.sum(live).as_py() or 0
        return rows


def live_rows(files: pa.RecordBatch) -> pa.Array:
    """Rows that readers see in each file: physical rows less the deletion vector's; 0 unknown."""
    physical = pc.fill_null(files.column("num_records"), 0)
    if "dv_cardinality" not in files.schema.names:
        return physical
    return pc.subtract(physical, pc.fill_null(files.column("dv_cardinality"), 0))


def select(
    reader: ManifestReader,
    snapshot: Snapshot,
    predicate: BoundPredicate | None,
    limit_rows: int | None,
) -> Selection:
    """The files of a snapshot that could hold a row matching `predicate`, up to the limit."""
    index = read_index(reader, snapshot)
    limit = Limit(limit_rows)
    picks = list(_base(reader, snapshot, index.zones, index.touched, predicate, limit))
    kept_tail = []
    for rows in index.tail:
        wanted = limit.take(rows, matching(predicate, rows, None))
        if len(wanted):
            kept_tail.append(rows.take(wanted))
    kept = sum(pick.count for pick in picks) + sum(rows.num_rows for rows in kept_tail)
    return Selection(picks, kept_tail, snapshot.totals.files, kept)


def read_index(reader: ManifestReader, snapshot: Snapshot) -> SnapshotIndex:
    """The zone maps and the tail of a snapshot, in one round trip."""
    segments = [
        segment
        for segment in snapshot.epoch.segments
        if segment.last > snapshot.epoch.first and segment.first <= snapshot.version
    ]
    zones, tail_rows = reader.snapshot_index(snapshot.head.table_id, snapshot.epoch.base, segments)
    touched, tail = _tail(snapshot, tail_rows)
    return SnapshotIndex(zones, touched, tail)


def _tail(
    snapshot: Snapshot, tail: Sequence[pa.RecordBatch]
) -> tuple[pa.Array | None, list[pa.RecordBatch]]:
    """Keys whose base row no longer counts (None where there are none), and live rows by segment.

    The last add or remove of a key up to the version decides (Delta protocol, "Action
    Reconciliation").
    """
    actions = []
    for rows in tail:
        version = rows.column("version")
        wanted = pc.and_(
            pc.and_(
                pc.greater(version, snapshot.epoch.first),
                pc.less_equal(version, snapshot.version),
            ),
            pc.not_equal(rows.column("action"), "cdc"),
        )
        actions.append(rows.filter(wanted))
    actions = [rows for rows in actions if rows.num_rows]
    if not actions:
        return None, []
    orders: list[pa.Array] = []
    start = 0
    for rows in actions:
        orders.append(_order(rows, start))
        start += rows.num_rows
    keyed = pa.table(
        {
            "key": pa.chunked_array([rows.column("key") for rows in actions]),
            "order": pa.chunked_array(orders),
        }
    )
    last = keyed.group_by("key").aggregate([("order", "max")])
    deciding = last["order_max"].combine_chunks()
    live = [
        rows.filter(
            pc.and_(pc.is_in(order, value_set=deciding), pc.equal(rows.column("action"), "add"))
        )
        for rows, order in zip(actions, orders, strict=True)
    ]
    return last["key"].combine_chunks(), live


def _order(rows: pa.RecordBatch, start: int) -> pa.Array:
    """A distinct number per row that grows with the order in which actions take effect: by
    version, within one commit removes before adds, then as written.
    """
    is_add = pc.equal(rows.column("action"), "add").cast(pa.int64())
    place = pa.array(range(start, start + rows.num_rows), pa.int64())
    by_version = pc.shift_left(rows.column("version"), pa.scalar(33, pa.int64()))
    by_kind = pc.shift_left(is_add, pa.scalar(32, pa.int64()))
    return pc.add(pc.add(by_version, by_kind), place)


def _base(
    reader: ManifestReader,
    snapshot: Snapshot,
    zones: pa.RecordBatch,
    touched: pa.Array | None,
    predicate: BoundPredicate | None,
    limit: Limit,
) -> Iterator[Pick]:
    if predicate is not None:
        zones = zones.filter(might_match(predicate, ZoneBounds(zones)))
    look_closer = predicate is not None or touched is not None or limit.counts
    columns = _wanted_columns(zones, predicate, touched, limit)
    counted = zones.select([name for name in zones.schema.names if ":" not in name]).to_pylist()
    for part, rows in groupby(counted, key=lambda zone: zone["part"]):
        of_part = list(rows)
        if limit.reached:
            return
        if not look_closer:
            for zone in of_part:
                yield Pick(part, _render_span(zone), None, zone["files"])
            continue
        while of_part:
            together = limit.at_least(of_part)
            spans = [
                Span(zone["prune_header"], zone["prune_offset"], zone["prune_length"])
                for zone in of_part[:together]
            ]
            batches = reader.prune_batches(
                snapshot.head.table_id, snapshot.epoch.base, part, spans, columns
            )
            for zone, batch in zip(of_part[:together], batches, strict=True):
                wanted = limit.take(batch, matching(predicate, batch, touched))
                if len(wanted):
                    every = len(wanted) == batch.num_rows
                    yield Pick(part, _render_span(zone), None if every else wanted, len(wanted))
                if limit.reached:
                    return
            of_part = of_part[together:]


def _wanted_columns(
    zones: pa.RecordBatch,
    predicate: BoundPredicate | None,
    touched: pa.Array | None,
    limit: Limit,
) -> set[str]:
    """The columns of a prune batch (`manifest.columns`) that deciding looks at."""
    wanted = {"num_records"}
    if touched is not None:
        wanted.add("key")
    if limit.counts:
        wanted.add("dv_cardinality")
    if predicate is not None:
        paths = set(_paths(predicate))
        for place, column in enumerate(ZoneBounds(zones).columns):
            if column.path in paths:
                wanted |= {f"{kind}:{place}" for kind in ("value", "min", "max", "nulls")}
    return wanted


def _paths(bound: BoundPredicate) -> Iterator[tuple[str, ...]]:
    """The physical paths of the columns in a predicate."""
    match bound:
        case BoundAnd(children) | BoundOr(children):
            for child in children:
                yield from _paths(child)
        case BoundNull(physical, _):
            yield physical
        case BoundCompare(_, column, _) | BoundIn(column, _):
            yield column.physical
        case BoundPrefix():
            yield bound.column.physical
        case BoundConstant() | Unknown():
            return


def _render_span(zone: dict[str, int]) -> Span:
    return Span(zone["render_header"], zone["render_offset"], zone["render_length"])


def matching(
    predicate: BoundPredicate | None, files: pa.RecordBatch, touched: pa.Array | None
) -> pa.Array:
    """Positions of the files that might match, and whose keys the tail has not touched."""
    if predicate is None:
        wanted = pa.array(range(files.num_rows), pa.int64())
    else:
        wanted = pc.indices_nonzero(might_match(predicate, FileBounds(files)))
    if touched is not None and len(wanted):
        gone = pc.is_in(files.column("key").take(wanted), value_set=touched)
        wanted = wanted.filter(pc.invert(gone))
    return wanted
