"""A remote object as a seekable file."""

import io
from collections.abc import Callable
from typing import IO, Any

BUFFER_BYTES = 64 * 1024


def open_ranges(fetch: Callable[[int, int], bytes], size_bytes: int) -> IO[bytes]:
    """A seekable binary file over `fetch(offset, length)`: one request for each read, large or
    small, and none for what lies within 64 KiB after the last one.
    """
    return io.BufferedReader(_Ranges(fetch, size_bytes), BUFFER_BYTES)


class _Ranges(io.RawIOBase):
    """Fetches a buffer more than is asked for: BufferedReader splits a large read in two, whole
    buffers and the rest, and the second part is then at hand.
    """

    def __init__(self, fetch: Callable[[int, int], bytes], size_bytes: int) -> None:
        super().__init__()
        self._fetch = fetch
        self._size = size_bytes
        self._position = 0
        self._block = b""
        self._block_start = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("cannot seek before the start of the file")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        start = self._position - self._block_start
        if not 0 <= start < len(self._block):
            length = min(wanted + BUFFER_BYTES, self._size - self._position)
            self._block = self._fetch(self._position, length)
            self._block_start = self._position
            start = 0
        piece = memoryview(self._block)[start : start + wanted]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)
