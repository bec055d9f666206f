"""What both entry points take from their settings: the published catalog, and the token signer."""

from headgate.catalog.published import PublishedCatalog
from headgate.settings import InvalidSetting, Settings
from headgate.storage.locate import StorageOptions, open_store
from headgate.tokens import TokenSigner


def published_catalog(settings: Settings, options: StorageOptions) -> PublishedCatalog:
    """Raises InvalidSetting where the settings do not name a published catalog."""
    root, _, key = settings.catalog.rpartition("/")
    if "://" not in root:
        raise InvalidSetting("HEADGATE_CATALOG must be the URL of a published catalog")
    return PublishedCatalog(open_store(root, options), key)


def token_signer(settings: Settings) -> TokenSigner:
    """Raises InvalidSetting where there is no secret: all functions must share one."""
    if settings.token_secret is None:
        raise InvalidSetting("HEADGATE_TOKEN_SECRET must be set: functions share their tokens")
    return TokenSigner(settings.token_secret)
