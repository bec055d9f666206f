from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import DeltaLogError
from headgate.log.listing import LogListing, parse_listing
from headgate.log.segment import CommitFile, reconstructable, segment_at
from headgate.storage.base import ObjectInfo


def listing(
    commits: Iterable[int],
    checkpoints: Iterable[int] = (),
    compactions: Iterable[tuple[int, int]] = (),
) -> LogListing:
    names = [f"{v:020}.json" for v in commits]
    names += [f"{v:020}.checkpoint.parquet" for v in checkpoints]
    names += [f"{x:020}.{y:020}.compacted.json" for x, y in compactions]
    return parse_listing(ObjectInfo(f"_delta_log/{name}", 1, 1) for name in names)


def files(found: LogListing, version: int | None = None) -> tuple[int | None, list[int]]:
    segment = segment_at(found, version)
    checkpoint = None if segment.checkpoint is None else segment.checkpoint.version
    return checkpoint, [commit.version for commit in segment.commits]


def test_the_newest_checkpoint_that_is_not_too_new_is_used() -> None:
    found = listing(range(8), [2, 5])
    assert files(found) == (5, [6, 7])
    assert files(found, 5) == (5, [])
    assert files(found, 4) == (2, [3, 4])
    assert files(found, 1) == (None, [0, 1])
    assert reconstructable(found) == range(8)


def test_a_log_may_begin_at_a_checkpoint_with_or_without_its_commit() -> None:
    for commits in ([3, 4], [4]):
        found = listing(commits, [3])
        assert reconstructable(found) == range(3, 5)
        assert files(found, 3) == (3, [])
        assert files(found) == (3, [4])
    assert reconstructable(listing([], [3])) == range(3, 4)


def test_versions_before_the_first_checkpoint_of_a_cleaned_log_are_gone() -> None:
    found = listing([3, 4, 5, 6], [5])
    assert reconstructable(found) == range(5, 7)
    with pytest.raises(DeltaLogError) as raised:
        segment_at(found, 4)
    assert raised.value.version == 0


def test_a_gap_names_the_missing_version() -> None:
    found = listing([0, 1, 3])
    for fails in (segment_at, reconstructable):
        with pytest.raises(DeltaLogError, match="gap") as raised:
            fails(found)
        assert raised.value.version == 2
    assert files(found, 1) == (None, [0, 1])


def test_a_checkpoint_bridges_a_gap() -> None:
    found = listing([0, 1, 4], [3])
    assert reconstructable(found) == range(3, 5)
    assert files(found) == (3, [4])
    assert files(found, 1) == (None, [0, 1])


def test_versions_that_the_log_has_not_reached() -> None:
    with pytest.raises(DeltaLogError, match="version 2 does not exist"):
        segment_at(listing([0, 1]), 2)
    with pytest.raises(DeltaLogError, match="does not exist"):
        segment_at(listing([0, 1]), -1)


def test_an_empty_log_is_not_a_table() -> None:
    for fails in (segment_at, reconstructable):
        with pytest.raises(DeltaLogError, match="not a Delta table"):
            fails(listing([]))


def test_compactions_shorten_the_state_but_not_the_history() -> None:
    found = listing(range(9), [1], [(0, 3), (2, 4), (2, 6), (5, 8), (7, 9)])
    segment = segment_at(found)
    assert [commit.version for commit in segment.commits] == [2, 3, 4, 5, 6, 7, 8]
    assert [
        (f.version,) if isinstance(f, CommitFile) else (f.start, f.end) for f in segment.state_files
    ] == [(2, 6), (7,), (8,)]


VERSIONS = st.integers(0, 8)


@settings(deadline=None)
@given(
    st.sets(VERSIONS),
    st.sets(VERSIONS),
    st.sets(st.tuples(VERSIONS, VERSIONS).filter(lambda p: p[0] < p[1])),
)
def test_segments_agree_with_the_definition(
    commits: set[int], checkpoints: set[int], compactions: set[tuple[int, int]]
) -> None:
    """A version can be had iff some checkpoint (or nothing, before version 0) is followed by every
    commit up to it; the reconstructable versions are the longest such run that ends the log."""
    if not commits | checkpoints:
        return
    found = listing(commits, checkpoints, compactions)
    latest = max(commits | checkpoints)

    def can(version: int) -> bool:
        return any(
            set(range(start + 1, version + 1)) <= commits
            for start in {-1, *checkpoints}
            if start <= version
        )

    for version in range(latest + 1):
        if not can(version):
            with pytest.raises(DeltaLogError):
                segment_at(found, version)
            continue
        segment = segment_at(found, version)
        start = -1 if segment.checkpoint is None else segment.checkpoint.version
        assert [c.version for c in segment.commits] == list(range(start + 1, version + 1))
        covered: list[int] = []
        for file in segment.state_files:
            covered += (
                [file.version] if isinstance(file, CommitFile) else range(file.start, file.end + 1)
            )
        assert covered == list(range(start + 1, version + 1))

    if not can(latest):
        with pytest.raises(DeltaLogError):
            reconstructable(found)
        return
    # The run a reader can follow commit by commit, from one state.
    starts = [
        start
        for start in sorted({-1, *checkpoints})
        if set(range(start + 1, latest + 1)) <= commits
    ]
    assert reconstructable(found) == range(max(starts[0], 0), latest + 1)
