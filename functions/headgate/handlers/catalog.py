"""Lambda entry point for listings: shares, schemas and tables, from the published catalog.

It holds no Arrow: everything about a table's contents is `headgate.handlers.query`'s.
"""

from mangum import Mangum

from headgate.api import shares
from headgate.api.app import create_app
from headgate.api.services import Services
from headgate.handlers.published import published_catalog, token_signer
from headgate.settings import Settings
from headgate.storage.locate import StorageOptions


def make_handler(settings: Settings, options: StorageOptions) -> Mangum:
    """The handler of API Gateway events. Raises InvalidSetting where a setting is missing."""
    services = Services(published_catalog(settings, options), token_signer(settings))
    app = create_app(services, [shares.router], prefix=settings.prefix)
    return Mangum(app, lifespan="off")


handler = make_handler(Settings.from_env(), StorageOptions.from_env())
