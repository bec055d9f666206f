"""Lambda entry point for listings: shares, schemas and tables, from the published catalog.

It holds no Arrow: everything about a table's contents is `headgate.handlers.query`'s.
"""

import threading
import time

import orjson
from mangum import Mangum

from headgate.api import shares
from headgate.api.app import create_app
from headgate.api.services import Services
from headgate.catalog.catalog import Catalog
from headgate.catalog.document import from_document
from headgate.errors import CatalogError
from headgate.settings import InvalidSetting, Settings
from headgate.storage.base import ObjectStore
from headgate.storage.locate import StorageOptions, open_store
from headgate.tokens import TokenSigner

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


def make_handler(settings: Settings, options: StorageOptions) -> Mangum:
    """The handler of API Gateway events. Raises InvalidSetting where a setting is missing."""
    root, _, key = settings.catalog.rpartition("/")
    if "://" not in root:
        raise InvalidSetting("HEADGATE_CATALOG must be the URL of a published catalog")
    if settings.token_secret is None:
        raise InvalidSetting("HEADGATE_TOKEN_SECRET must be set: functions share their tokens")
    services = Services(
        PublishedCatalog(open_store(root, options), key), TokenSigner(settings.token_secret)
    )
    app = create_app(services, [shares.router], prefix=settings.prefix)
    return Mangum(app, lifespan="off")


handler = make_handler(Settings.from_env(), StorageOptions.from_env())
