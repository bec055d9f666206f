"""What `query.explain` says, against what `query.prune` keeps and what each file holds."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.manifest.read import ManifestReader
from headgate.query.answer import SnapshotQuery, plan_predicate
from headgate.query.explain import EACH_FILE_UP_TO, Explanation, explain
from headgate.query.extents import UNKNOWN, Extent
from headgate.query.pieces import Fate, Piece, merged
from headgate.query.prune import select
from headgate.query.versions import snapshot_at
from headgate.storage.local import LocalObjectStore
from tests.query.hand_index import SIZE, TABLE, ZONE_FILES, File, write_index


def ten(start: int, count: int, **more: object) -> list[File]:
    """Files of ten values of x each, one after the other."""
    return [
        File(f"f{place:03}", (place * 10, place * 10 + 9), **more)  # type: ignore[arg-type]
        for place in range(start, start + count)
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalObjectStore:
    """Base: parts of 7 and 5 files, x from 0 to 119. Tail: f003 replaced, f011 removed, t added."""
    return write_index(
        tmp_path_factory.mktemp("index"),
        [ten(0, 7), ten(7, 5)],
        [{"f003": File("f003", (35, 200))}, {"f011": None, "t": File("t", (300, 309), rows=4)}],
    )


def asked(store: LocalObjectStore, where: str, **more: object) -> Explanation:
    return explain(store, TABLE, SnapshotQuery(predicate_hints=(where,), **more))  # type: ignore[arg-type]


def fates(pieces: tuple[Piece, ...]) -> list[tuple[Fate, int, int]]:
    return [(piece.fate, piece.kept, piece.files) for piece in pieces]


def test_zones_and_tail(store: LocalObjectStore) -> None:
    found = asked(store, "x >= 25 and x < 65")
    assert fates(found.zones) == [
        (Fate.PARTLY, 1, 3),
        (Fate.KEPT, 2, 2),  # without f003, which the tail replaces
        (Fate.KEPT, 1, 1),
        (Fate.RULED_OUT, 0, 3),
        (Fate.RULED_OUT, 0, 2),
    ]
    assert fates(found.tail) == [(Fate.PARTLY, 1, 2)]
    assert [piece.extent for piece in found.zones][:2] == [Extent(0, 29), Extent(30, 59)]
    assert found.tail[0].extent == Extent(35, 309)
    assert (found.files_considered, found.files_kept) == (12, 5)
    assert (found.bytes_considered, found.bytes_kept) == (12 * SIZE, 5 * SIZE)
    assert found.rows_kept == 50
    assert [file.path for file in found.first_files] == ["f002", "f004", "f005", "f006", "f003"]


def test_each_file(store: LocalObjectStore) -> None:
    found = asked(store, "x >= 25 and x < 65")
    assert found.files is not None
    assert [(piece.in_tail, piece.fate) for piece in found.files] == [
        (False, Fate.NONE_KEPT),
        (False, Fate.NONE_KEPT),
        (False, Fate.KEPT),
        (False, Fate.KEPT),
        (False, Fate.KEPT),
        (False, Fate.KEPT),
        *[(False, Fate.RULED_OUT)] * 4,
        (True, Fate.KEPT),
        (True, Fate.NONE_KEPT),
    ]
    assert found.files[2].extent == Extent(20, 29)


def test_older_versions(store: LocalObjectStore) -> None:
    found = asked(store, "x >= 110", version=0)
    assert found.tail == ()
    assert [file.path for file in found.first_files] == ["f011"]
    assert [reads.kind for reads in found.reads] == [
        "head",
        "zone maps",
        "bounds of files",
        "answer fragments",
    ]
    assert [reads.requests for reads in found.reads] == [1, 1, 1, 1]


def test_each_conjunct_alone(store: LocalObjectStore) -> None:
    found = asked(store, "x >= 25 and (x < 65 and upper(part) = 'P') and y > 1")
    assert [(each.parsed, each.ruled_out) for each in found.conjuncts] == [
        ("x >= 25", 2),
        ("x < 65", 5),
        ("[not understood: an SQL expression that is not supported]", 0),
        ("y > 1", 0),
    ]
    assert found.conjuncts[1].compared == "x < 65"
    assert found.unused == ("an SQL expression that is not supported",)
    assert found.conjuncts[2].unused == found.unused
    assert "NaN" in found.conjuncts[3].compared


def test_a_limit_in_the_base(store: LocalObjectStore) -> None:
    found = asked(store, "x < 65", limit_hint=35)
    assert [fate for fate, _, _ in fates(found.zones)] == [
        Fate.KEPT,
        Fate.PARTLY,
        Fate.NOT_REACHED,
        Fate.RULED_OUT,
        Fate.RULED_OUT,
    ]
    assert fates(found.tail) == [(Fate.NOT_REACHED, 0, 2)]
    assert found.files is not None
    assert Counter(piece.fate for piece in found.files) == {
        Fate.KEPT: 4,
        Fate.NOT_REACHED: 3,
        Fate.RULED_OUT: 4,
        Fate.NONE_KEPT: 1,
    }
    assert found.rows_kept == 40


def test_a_limit_in_the_tail(store: LocalObjectStore) -> None:
    found = asked(store, "x >= 45 and x < 310", limit_hint=71)
    assert Fate.NOT_REACHED not in {piece.fate for piece in found.zones}
    assert fates(found.tail) == [(Fate.PARTLY, 1, 2)]
    assert found.files is not None
    assert found.files[-1].fate is Fate.NOT_REACHED


def test_a_limit_of_no_rows(store: LocalObjectStore) -> None:
    found = explain(store, TABLE, SnapshotQuery(limit_hint=0))
    assert {piece.fate for piece in (*found.zones, *found.tail)} == {Fate.NOT_REACHED}
    assert (found.files_kept, found.rows_kept) == (0, 0)


def test_rows_that_are_not_told(tmp_path: Path) -> None:
    store = write_index(tmp_path, [[File("a", (0, 1)), File("b", None, rows=None)]], [])
    found = asked(store, "x = 0")
    assert found.rows_kept is None
    assert [file.rows for file in found.first_files] == [10, None]
    assert found.zones[0].extent == UNKNOWN
    assert found.files is not None
    assert [piece.extent for piece in found.files] == [Extent(0, 1), UNKNOWN]


def test_a_table_of_many_files_is_told_by_zones(tmp_path: Path) -> None:
    store = write_index(tmp_path, [ten(0, EACH_FILE_UP_TO + 1)], [])
    found = asked(store, "x = 7")
    assert found.files is None
    assert len(found.zones) == -(-(EACH_FILE_UP_TO + 1) // ZONE_FILES)
    assert found.zones[0].kept == 1


@pytest.mark.parametrize(
    ("where", "column", "wanted"),
    [
        ("x > 3 and x <= 50", "x", (Extent(3, 50),)),
        ("x = 5 or x between 4 and 9 or x > 70", "x", (Extent(4, 9), Extent(70, None))),
        ("x < 5 or part = 'p'", "x", (UNKNOWN,)),
        ("(x < 5 or part = 'p') and part >= 'o'", "part", (Extent(b"o", None),)),
        ("x in (9, 4) and x > 5", "x", (Extent(9, 9),)),
        ("x > 5 and x < 4", "x", ()),
        ("not (x > 5)", "x", (Extent(None, 5),)),
        ("part like 'a%'", "part", (Extent(b"a", b"b"),)),
        ("y > 3 and x < 5", "x", (Extent(None, 5),)),  # nothing is known of y
    ],
)
def test_the_column_of_the_picture(
    store: LocalObjectStore, where: str, column: str, wanted: tuple[Extent, ...]
) -> None:
    found = asked(store, where)
    assert found.column is not None
    assert (found.column.name, found.column.wanted) == (column, wanted)


@pytest.mark.parametrize("where", ["x <> 3", "x is null", "y < 5", "part not like 'a%'", "z = 1"])
def test_no_column_for_the_picture(store: LocalObjectStore, where: str) -> None:
    assert asked(store, where).column is None


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[File]], list[dict[str, File | None]]]:
    def file(path: str) -> File:
        ends = draw(st.none() | st.tuples(st.integers(0, 50), st.integers(0, 10)))
        known = None if ends is None else (ends[0], ends[0] + ends[1])
        return File(path, known, rows=draw(st.none() | st.integers(0, 20)))

    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    parts = [[file(f"b{p}-{f}") for f in range(size)] for p, size in enumerate(sizes)]
    paths = [each.path for part in parts for each in part]
    commits: list[dict[str, File | None]] = []
    for version in range(draw(st.integers(0, 3))):
        changed: dict[str, File | None] = {}
        for path in draw(st.lists(st.sampled_from(paths), max_size=3, unique=True)):
            changed[path] = file(path) if draw(st.booleans()) else None
        for place in range(draw(st.integers(0, 3))):
            changed[f"t{version}-{place}"] = file(f"t{version}-{place}")
        commits.append(changed)
    return parts, commits


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    tables(),
    st.sampled_from(["x < 20", "x >= 10 and x < 30", "x = 25", "x < 0", "x is not null", ""]),
    st.none() | st.integers(0, 120),
    st.data(),
)
def test_pieces_agree_with_the_selection(
    table: tuple[list[list[File]], list[dict[str, File | None]]],
    where: str,
    limit: int | None,
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = write_index(Path(folder), *table)
        version = data.draw(st.integers(0, len(table[1])))
        hints = (where,) if where else ()
        query = SnapshotQuery(version=version, predicate_hints=hints, limit_hint=limit)
        found = explain(store, TABLE, query, first_files=1000)
        reader = ManifestReader(store)
        snapshot = snapshot_at(reader, TABLE, version, None)
        kept = select(reader, snapshot, plan_predicate(snapshot, query)[0], limit).kept

    live = {file.path: file for part in table[0] for file in part}
    for commit in table[1][:version]:
        for path, changed in commit.items():
            live.pop(path, None)
            if changed is not None:
                live[path] = changed
    assert found.files_kept == kept == len(found.first_files)
    assert sum(piece.kept for piece in (*found.zones, *found.tail)) == kept
    assert found.files is not None
    assert len(found.files) == len(live) == found.files_considered
    assert sum(piece.kept for piece in found.files) == kept
    assert found.bytes_kept == kept * SIZE
    rows = [live[file.path].rows for file in found.first_files]
    assert [file.rows for file in found.first_files] == rows
    assert found.rows_kept == (None if None in rows else sum(count or 0 for count in rows))
    for piece in (*found.zones, *found.tail):
        assert (piece.fate in (Fate.KEPT, Fate.PARTLY)) == bool(piece.kept)
        assert (piece.fate is Fate.KEPT) == (piece.kept == piece.files)
    if limit is None:
        assert Fate.NOT_REACHED not in {piece.fate for piece in found.files}


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from(Fate), st.integers(1, 9)), max_size=60),
    st.integers(1, 20),
)
def test_merging_keeps_counts(drawn: list[tuple[bool, Fate, int]], most: int) -> None:
    kept = {Fate.KEPT: 1, Fate.PARTLY: 0.5}
    pieces = [
        Piece(tail, 2 * files, int(2 * files * kept.get(fate, 0)), fate, Extent(files, files + 1))
        for tail, fate, files in sorted(drawn, key=lambda each: each[0])
    ]
    made = merged(pieces, most)
    assert len(made) <= most + 1  # base and tail are not made one
    for tail in (False, True):
        before = [piece for piece in pieces if piece.in_tail is tail]
        after = [piece for piece in made if piece.in_tail is tail]
        assert sum(p.files for p in before) == sum(p.files for p in after)
        assert sum(p.kept for p in before) == sum(p.kept for p in after)
    for piece in made:
        assert (piece.fate in (Fate.KEPT, Fate.PARTLY)) == bool(piece.kept)
        if piece.fate is Fate.KEPT:
            assert piece.kept == piece.files
