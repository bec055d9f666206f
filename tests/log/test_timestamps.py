import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import DeltaLogError
from headgate.log.commits import parse_commit
from headgate.log.timestamps import commit_timestamps, in_commit_timestamp
from headgate.model.actions import Metadata

ENABLED = Metadata("t", "", configuration={"delta.enableInCommitTimestamps": "true"})


def test_modification_times_are_made_monotonic() -> None:
    assert commit_timestamps([(4, 10, None), (5, 10, None), (6, 3, None), (7, 20, None)]) == [
        10,
        11,
        12,
        20,
    ]


def test_in_commit_timestamps_stand_as_they_are() -> None:
    assert commit_timestamps([(0, 100, None), (1, 5, 200), (2, 5, 201), (3, 5, None)]) == [
        100,
        200,
        201,
        202,
    ]


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1))
def test_adjusted_times_rise_and_never_precede_the_files(times: list[int]) -> None:
    adjusted = commit_timestamps((v, t, None) for v, t in enumerate(times))
    assert all(a < b for a, b in itertools.pairwise(adjusted))
    assert all(a >= t for a, t in zip(adjusted, times, strict=True))
    assert adjusted[0] == times[0]


def test_a_commits_own_timestamp_counts_only_where_the_table_keeps_them() -> None:
    stamped = parse_commit(b'{"commitInfo":{"inCommitTimestamp":7}}', 3, 1)
    plain = parse_commit(b'{"commitInfo":{"timestamp":7}}', 3, 1)
    assert in_commit_timestamp(stamped, ENABLED) == 7
    assert in_commit_timestamp(stamped, Metadata("t", "")) is None
    assert in_commit_timestamp(plain, Metadata("t", "")) is None
    with pytest.raises(DeltaLogError, match="at version 3"):
        in_commit_timestamp(plain, ENABLED)


def test_the_preview_of_the_property_counts_too_where_the_commit_has_a_timestamp() -> None:
    preview = Metadata("t", "", configuration={"delta.enableInCommitTimestamps-preview": "true"})
    stamped = parse_commit(b'{"commitInfo":{"inCommitTimestamp":7}}', 3, 1)
    assert in_commit_timestamp(stamped, preview) == 7
    assert in_commit_timestamp(parse_commit(b"", 3, 1), preview) is None
