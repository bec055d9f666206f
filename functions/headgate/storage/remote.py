"""Objects of a cloud's storage through obstore."""

import contextlib
import datetime
import random
import time
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import obstore
import obstore.exceptions
from obstore.store import ObjectStore as CloudStore

from headgate.errors import ObjectNotFound, PreconditionFailed, StorageError
from headgate.storage.base import ObjectInfo
from headgate.storage.rangefile import open_ranges

if TYPE_CHECKING:
    from obstore.store import RetryConfig

RETRIES: "RetryConfig" = {"max_retries": 5, "retry_timeout": datetime.timedelta(seconds=30)}
"""For all but conditional puts: obstore's own default goes on for three minutes."""
NO_RETRIES: "RetryConfig" = {"max_retries": 0}
_ATTEMPTS = 4
_PAUSE_S = 0.05
# Answers after which a conditional put may or may not have happened: the connection broke, or the
# service failed. All else that obstore raises is an answer.
_AMBIGUOUS = obstore.exceptions.GenericError
_LOST = (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError)


class RemoteObjectStore:
    """An ObjectStore over an obstore store.

    `once` is the same store without retries of its own: conditional puts go through it and are
    repeated here, since a repeated one can fail against its own lost answer, and only who counts
    the attempts can tell that from a lost race.
    """

    def __init__(self, url: str, store: CloudStore, once: CloudStore) -> None:
        self.url = url
        self._store = store
        self._once = once

    def get(self, key: str) -> bytes:
        with mapped(key):
            return obstore.get(self._store, key).bytes().to_bytes()

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        with mapped(key):
            result = obstore.get(self._store, key)
            tag = self._tag(result.meta)
            return result.bytes().to_bytes(), tag

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        wanted = [(offset, length) for offset, length in ranges if length > 0]
        with mapped(key):
            found = obstore.get_ranges(
                self._store,
                key,
                starts=[offset for offset, _ in wanted],
                lengths=[length for _, length in wanted],
            )
        bodies = iter(found)
        return [
            checked_range(key, next(bodies).to_bytes(), offset, length) if length > 0 else b""
            for offset, length in ranges
        ]

    def open(self, key: str) -> IO[bytes]:
        with mapped(key):
            size = obstore.head(self._store, key)["size"]

        def fetch(offset: int, length: int) -> bytes:
            with mapped(key):
                body = obstore.get_range(self._store, key, start=offset, length=length)
            return checked_range(key, body.to_bytes(), offset, length)

        return open_ranges(fetch, size)

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[ObjectInfo]:
        prefix = prefix.strip("/")
        with mapped(prefix):
            for chunk in obstore.list(self._store, prefix or None, offset=after, chunk_size=1000):
                for meta in chunk:
                    yield ObjectInfo(
                        meta["path"], meta["size"], int(meta["last_modified"].timestamp() * 1000)
                    )

    def put(self, key: str, body: bytes) -> str:
        with mapped(key):
            return self._tag(obstore.put(self._store, key, body, use_multipart=False))

    def put_if_absent(self, key: str, body: bytes) -> str:
        return self._conditional_put(key, body, None)

    def put_if_match(self, key: str, body: bytes, tag: str) -> str:
        return self._conditional_put(key, body, tag)

    def delete(self, key: str) -> None:
        with mapped(key), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, key)

    def _conditional_put(self, key: str, body: bytes, tag: str | None) -> str:
        """Puts where `tag` is still the object's, or where there is none for a tag of None.

        A 409 says that another conditional put was under way, so nothing is decided yet.
        """
        mode: Any = "create" if tag is None else self._update_mode(tag)
        uncertain = False
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with mapped(key, passing=(*_LOST, _AMBIGUOUS)):
                    return self._tag(
                        obstore.put(self._once, key, body, mode=mode, use_multipart=False)
                    )
            except ObjectNotFound as error:
                raise PreconditionFailed(f"{key!r} is gone") from error
            except _AMBIGUOUS as error:
                if attempt == _ATTEMPTS:
                    raise StorageError(_message(key, error)) from error
                uncertain = True
            except _LOST as error:
                current = self._current(key)
                if uncertain and current is not None and current[0] == body:
                    return current[1]
                undecided = (None if current is None else current[1]) == tag
                if not undecided or attempt == _ATTEMPTS:
                    raise PreconditionFailed(f"{key!r} exists or has changed") from error
            time.sleep(random.uniform(0, _PAUSE_S * 2**attempt))  # noqa: S311 — no secret
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _current(self, key: str) -> tuple[bytes, str] | None:
        try:
            return self.get_tagged(key)
        except ObjectNotFound:
            return None

    def _tag(self, result: Any) -> str:
        tag = result["e_tag"]
        if tag is None:
            raise StorageError("storage gave no entity tag")
        return str(tag)

    def _update_mode(self, tag: str) -> dict[str, str]:
        return {"e_tag": tag}


def checked_range(key: str, body: bytes, offset: int, length: int) -> bytes:
    """The body, if it is as long as was asked for; a StorageError otherwise."""
    if len(body) != length:
        raise StorageError(f"{key!r} ends before byte {offset + length}")
    return body


@contextlib.contextmanager
def mapped(key: str, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Gives obstore's exceptions as Headgate's, but for those of `passing`."""
    try:
        yield
    except passing:
        raise
    except FileNotFoundError as error:
        raise ObjectNotFound(f"no object {key!r}") from error
    except _LOST as error:
        raise PreconditionFailed(f"{key!r} exists or has changed") from error
    except (obstore.exceptions.BaseError, OSError, ValueError) as error:
        raise StorageError(_message(key, error)) from error


def _message(key: str, error: Exception) -> str:
    """The first line: what follows is a debugging dump with the whole request."""
    lines = str(error).splitlines() or [type(error).__name__]
    return f"storage failed at {key!r}: {lines[0]}"
