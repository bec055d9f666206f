"""The settings of a Headgate process, read once from its environment.

| variable | default | meaning |
|---|---|---|
| `HEADGATE_CATALOG` | `catalog` | folder or file of the catalog, or the URL of a published one |
| `HEADGATE_INDEX_URL` | `.headgate/index` | folder of manifests, or `s3://bucket/prefix` |
| `HEADGATE_ENDPOINT` | none | public URL of the server: what profile files name |
| `HEADGATE_PREFIX` | `/delta-sharing` | path that every route of the protocol begins with |
| `HEADGATE_TOKEN_SECRET` | none | key that signs page and refresh tokens, 32 characters or more; \
without one a process makes its own, and its tokens end with it |
| `HEADGATE_URL_TTL_S` | `3600` | seconds that the URLs of data files stay valid, 1 to 604800 |
| `HEADGATE_PAGE_SIZE_LIMIT` | `10000` | most files that one page of an answer holds |
| `HEADGATE_PAGE_TOKEN_TTL_S` | `259200` | seconds that a page token of a query stays valid |
| `HEADGATE_REFRESH_TOKEN_TTL_S` | `3600` | seconds that a refresh token stays valid |

Storage reads the usual AWS variables and its own (`storage.locate`).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

PREFIX = "HEADGATE_"
MIN_SECRET_CHARACTERS = 32
MAX_URL_TTL_S = 7 * 24 * 3600  # the longest that SigV4 signs for


class InvalidSetting(ValueError):
    """A variable of the environment holds what cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Frozen settings; each field is the variable of the same name (see the module's table)."""

    catalog: str = "catalog"
    index_url: str = ".headgate/index"
    endpoint: str | None = None
    prefix: str = "/delta-sharing"
    token_secret: bytes | None = field(default=None, repr=False)
    url_ttl_s: int = 3600
    page_size_limit: int = 10_000
    page_token_ttl_s: int = 259_200
    refresh_token_ttl_s: int = 3600

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """The settings in `environ` (by default the process's). Empty variables count as unset.

        Raises InvalidSetting.
        """
        source = os.environ if environ is None else environ
        defaults = cls()

        def text(name: str) -> str | None:
            return source.get(PREFIX + name) or None

        def number(name: str, default: int, most: int | None = None) -> int:
            value = text(name)
            if value is None:
                return default
            if not (value.isascii() and value.isdigit()) or int(value) < 1:
                raise InvalidSetting(
                    f"{PREFIX}{name} must be a whole number of 1 or more, not {value!r}"
                )
            if most is not None and int(value) > most:
                raise InvalidSetting(f"{PREFIX}{name} must be at most {most}, not {value}")
            return int(value)

        return cls(
            catalog=text("CATALOG") or defaults.catalog,
            index_url=text("INDEX_URL") or defaults.index_url,
            endpoint=text("ENDPOINT"),
            prefix=normalise_prefix(source.get(PREFIX + "PREFIX", defaults.prefix)),
            token_secret=_secret(text("TOKEN_SECRET")),
            url_ttl_s=number("URL_TTL_S", defaults.url_ttl_s, MAX_URL_TTL_S),
            page_size_limit=number("PAGE_SIZE_LIMIT", defaults.page_size_limit),
            page_token_ttl_s=number("PAGE_TOKEN_TTL_S", defaults.page_token_ttl_s),
            refresh_token_ttl_s=number("REFRESH_TOKEN_TTL_S", defaults.refresh_token_ttl_s),
        )


def normalise_prefix(prefix: str) -> str:
    """A route prefix with one leading slash and no trailing one; empty for the root."""
    stripped = prefix.strip("/")
    return f"/{stripped}" if stripped else ""


def _secret(value: str | None) -> bytes | None:
    if value is None:
        return None
    if len(value) < MIN_SECRET_CHARACTERS:
        raise InvalidSetting(
            f"{PREFIX}TOKEN_SECRET must have {MIN_SECRET_CHARACTERS} characters or more: make one "
            'with `python -c "import secrets; print(secrets.token_urlsafe(32))"`'
        )
    return value.encode()
