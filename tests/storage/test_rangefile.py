"""A remote object as a file: any sequence of reads, and few requests."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.storage.rangefile import BUFFER_BYTES, open_ranges

BODY = bytes(range(251)) * 2_000

offsets = st.integers(-10, len(BODY) + BUFFER_BYTES)
steps = st.lists(st.tuples(st.sampled_from([0, 1, 2]), offsets, st.integers(-1, 200_000)))


class Remote:
    def __init__(self) -> None:
        self.requests: list[tuple[int, int]] = []

    def fetch(self, offset: int, length: int) -> bytes:
        assert 0 <= offset < offset + length <= len(BODY)
        self.requests.append((offset, length))
        return BODY[offset : offset + length]


@given(steps)
def test_reads_as_a_file_in_memory(steps: list[tuple[int, int, int]]) -> None:
    memory, file = io.BytesIO(BODY), open_ranges(Remote().fetch, len(BODY))
    for whence, offset, length in steps:
        try:
            expected = memory.seek(offset if whence == 0 else -offset, whence)
        except ValueError:
            continue
        if expected == 0 and (whence, offset) != (0, 0):
            memory.seek(0)  # BytesIO stops at the start where a file refuses to go before it
            file.seek(0)
        else:
            assert file.seek(offset if whence == 0 else -offset, whence) == expected
        assert file.read(length) == memory.read(length)
        assert file.tell() == memory.tell()


@pytest.mark.parametrize("length", [10, BUFFER_BYTES, 300_001])
def test_one_request_for_each_read(length: int) -> None:
    remote = Remote()
    file = open_ranges(remote.fetch, len(BODY))
    file.seek(50_000)
    assert file.read(length) == BODY[50_000 : 50_000 + length]
    assert len(remote.requests) == 1
    assert file.read(1_000) == BODY[50_000 + length : 51_000 + length]
    assert len(remote.requests) == 1


def test_it_is_a_binary_file() -> None:
    file = open_ranges(Remote().fetch, len(BODY))
    assert file.readable()
    assert file.seekable()
    assert not file.closed
    with pytest.raises(ValueError, match="before the start"):
        file.seek(-1)
    file.close()
    assert file.closed
