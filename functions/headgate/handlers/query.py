"""Lambda entry point for tables: version, metadata and queries, from published manifests."""

from functools import lru_cache

from mangum import Mangum

from headgate.api import tables
from headgate.api.app import create_app
from headgate.api.tables import TableServices
from headgate.handlers.published import published_catalog, token_signer
from headgate.manifest.read import ManifestReader
from headgate.query.answer import QueryServices
from headgate.settings import Settings
from headgate.storage.base import UrlSigner
from headgate.storage.locate import StorageOptions, open_signer, open_store


def make_handler(settings: Settings, options: StorageOptions) -> Mangum:
    """The handler of API Gateway events. Raises InvalidSetting where a setting is missing."""

    @lru_cache(maxsize=1024)
    def signer(location: str) -> UrlSigner:
        return open_signer(location, options)

    services = TableServices(
        catalog=published_catalog(settings, options),
        tokens=token_signer(settings),
        query=QueryServices(
            ManifestReader(open_store(settings.index_url, options)), signer, settings.url_ttl_s
        ),
    )
    app = create_app(services, [tables.router], prefix=settings.prefix)
    return Mangum(app, lifespan="off")


handler = make_handler(Settings.from_env(), StorageOptions.from_env())
