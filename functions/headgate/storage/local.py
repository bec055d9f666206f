"""Objects as files of a directory.

Plain files rather than obstore's LocalStore: that one lists in no order, whole before the first
key, and has no conditional update.
"""

import contextlib
import fcntl
import hashlib
import os
import stat
import uuid
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import IO

from headgate.errors import ObjectNotFound, PreconditionFailed, StorageError
from headgate.storage.base import ObjectInfo

_OWN_PREFIX = ".headgate-"  # files that are no objects: those being written, and the lock
_LOCK_NAME = f"{_OWN_PREFIX}lock"


class LocalObjectStore:
    """An ObjectStore over a directory, which need not exist until the first put.

    Puts are atomic: readers see the old content or the new. Conditional puts exclude each other,
    other puts and deletes by a lock on one file of the root, across threads and processes.
    """

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 — resolve() would follow links
        self.url = f"file://{self._root}"

    def get(self, key: str) -> bytes:
        with _reading(key):
            return self._path(key).read_bytes()

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        body = self.get(key)
        return body, _tag(body)

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        bodies = []
        with self.open(key) as file:
            for offset, length in ranges:
                file.seek(offset)
                body = file.read(length)
                if len(body) != length:
                    raise StorageError(f"{key!r} ends before byte {offset + length}")
                bodies.append(body)
        return bodies

    def open(self, key: str) -> IO[bytes]:
        with _reading(key):
            return self._path(key).open("rb")

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[ObjectInfo]:
        prefix = prefix.strip("/")
        directory = self._path(prefix) if prefix else self._root
        return _walk(directory, f"{prefix}/" if prefix else "", after)

    def put(self, key: str, body: bytes) -> str:
        self._write(key, body, os.replace)
        return _tag(body)

    def put_if_absent(self, key: str, body: bytes) -> str:
        def create(source: Path, target: Path) -> None:
            try:
                os.link(source, target)  # unlike a rename, it fails where the name exists
            except FileExistsError as error:
                raise PreconditionFailed(f"{key!r} exists") from error

        self._write(key, body, create)
        return _tag(body)

    def put_if_match(self, key: str, body: bytes, tag: str) -> str:
        def replace(source: Path, target: Path) -> None:
            try:
                current = _tag(target.read_bytes())
            except (FileNotFoundError, NotADirectoryError) as error:
                raise PreconditionFailed(f"{key!r} is gone") from error
            if current != tag:
                raise PreconditionFailed(f"{key!r} has changed")
            source.replace(target)

        self._write(key, body, replace)
        return _tag(body)

    def delete(self, key: str) -> None:
        with (
            _writing(key),
            self._lock(),
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
        ):
            self._path(key).unlink()

    def _write(self, key: str, body: bytes, publish: Callable[[Path, Path], None]) -> None:
        """Writes the body beside its place, then publishes it there under the lock."""
        target = self._path(key)
        with _writing(key):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.parent / f"{_OWN_PREFIX}{uuid.uuid4().hex}"
            try:
                with temporary.open("xb") as file:
                    file.write(body)
                    file.flush()
                    os.fsync(file.fileno())
                with self._lock():
                    publish(temporary, target)
            finally:
                temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            descriptor = os.open(self._root / _LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # no root, so nothing to exclude
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which releases the lock

    def _path(self, key: str) -> Path:
        segments = key.split("/")
        if ".." in segments or "\0" in key or set(segments) <= {"", "."}:
            raise StorageError(f"{key!r} is not a key of a local directory")
        return self._root.joinpath(*(segment for segment in segments if segment))


def _tag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@contextlib.contextmanager
def _reading(key: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise ObjectNotFound(f"no object {key!r}") from error
    except OSError as error:
        raise StorageError(f"cannot read {key!r}: {error.strerror}") from error


@contextlib.contextmanager
def _writing(key: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot write {key!r}: {error.strerror}") from error


def _walk(directory: Path | str, prefix: str, after: str | None) -> Iterator[ObjectInfo]:
    """The files below a directory in the order of their keys, in which `a-b` precedes `a/b`."""
    try:
        with os.scandir(directory) as entries:
            found = [
                (f"{entry.name}/" if entry.is_dir() else entry.name, entry)
                for entry in entries
                if not entry.name.startswith(_OWN_PREFIX)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise StorageError(f"cannot list {prefix!r}: {error.strerror}") from error
    found.sort(key=itemgetter(0))
    for name, entry in found:
        key = prefix + name
        if name.endswith("/"):
            if after is None or after < key or after.startswith(key):
                yield from _walk(entry.path, key, after)
        elif after is None or after < key:
            try:
                status = entry.stat()
            except OSError:  # deleted since it was listed, or a link to nowhere
                continue
            if stat.S_ISREG(status.st_mode):
                yield ObjectInfo(key, status.st_size, status.st_mtime_ns // 1_000_000)
