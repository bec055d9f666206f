"""The catalog as it was published to object storage: one document, read again when it is old."""

import threading
import time

import orjson

from headgate.catalog.catalog import Catalog
from headgate.catalog.document import from_document
from headgate.errors import CatalogError
from headgate.storage.base import ObjectStore

# A new catalog, a revoked recipient among its changes, is in force within this time.
CATALOG_TTL_S = 30.0


class PublishedCatalog:
    """Gives the catalog that is published in `store` at `key`, read again when it is `ttl_s` old.

    Safe to call from several threads. A call raises StorageError or CatalogError where the catalog
    cannot be read; it never falls back to an older one, which may grant what has been revoked.
    """

    def __init__(self, store: ObjectStore, key: str, ttl_s: float = CATALOG_TTL_S) -> None:
        self._store = store
        self._key = key
        self._ttl_s = ttl_s
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._stale_at_s = 0.0

    def __call__(self) -> Catalog:
        with self._lock:
            now_s = time.monotonic()
            if self._catalog is None or now_s >= self._stale_at_s:
                self._catalog = None
                self._catalog = self._read()
                self._stale_at_s = now_s + self._ttl_s
            return self._catalog

    def _read(self) -> Catalog:
        try:
            document = orjson.loads(self._store.get(self._key))
        except orjson.JSONDecodeError as error:
            raise CatalogError("the published catalog is damaged: publish it again") from error
        return from_document(document)
