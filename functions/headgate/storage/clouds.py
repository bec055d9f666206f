"""Google Cloud Storage and Azure, wholly through obstore."""

import datetime
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote

import obstore
import obstore.store

from headgate.errors import StorageError
from headgate.storage.keys import is_absolute
from headgate.storage.remote import NO_RETRIES, RETRIES, RemoteObjectStore, mapped

MAX_TTL_S = 7 * 24 * 3600


def open_cloud_store(url: str) -> RemoteObjectStore:
    """The store at a `gs://`, `az://`, `abfs://` or `abfss://` URL; credentials from the
    environment and the machine, as obstore finds them.
    """
    kind = _GenerationStore if url.startswith("gs:") else RemoteObjectStore
    return kind(url, _store(url), _store(url, retry_config=NO_RETRIES))


class _GenerationStore(RemoteObjectStore):
    """GCS conditions puts on an object's generation, not on its entity tag."""

    def _tag(self, result: Any) -> str:
        if result["version"] is None:
            raise StorageError("storage gave no generation")
        return str(result["version"])

    def _update_mode(self, tag: str) -> dict[str, str]:
        return {"version": tag}


class CloudUrlSigner:
    """Signs a table's objects by obstore: 10 µs each."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._store = _store(url)

    def sign(self, paths: Sequence[str], ttl_s: int) -> tuple[list[bytes], int]:
        """As `storage.base.UrlSigner.sign`; absolute paths must be below the table's root."""
        ttl_s = min(ttl_s, MAX_TTL_S)
        expires_at_ms = int(time.time() + ttl_s) * 1000
        keys = [self._key(unquote(path)) for path in paths]
        with mapped(self._url):
            urls = obstore.sign(self._store, "GET", keys, datetime.timedelta(seconds=ttl_s))
        return [url.encode() for url in urls], expires_at_ms

    def _key(self, path: str) -> str:
        if not is_absolute(path):
            return path
        if path.startswith(f"{self._url}/"):
            return path.removeprefix(f"{self._url}/")
        raise StorageError("cannot sign an absolute path outside the table's root")


def _store(url: str, retry_config: Any = RETRIES) -> Any:
    scheme, _, rest = url.partition("://")
    with mapped(url):
        return obstore.store.from_url(
            f"{scheme}://{quote(rest, safe='/@')}", retry_config=retry_config
        )
