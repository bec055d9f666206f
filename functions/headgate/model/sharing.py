"""The nouns of Delta Sharing: shares, schemas, tables, recipients, capabilities.

Source: Delta Sharing protocol, "Concepts" and "Delta Sharing Capabilities Header".
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Table:
    """A shared table.

    `location` is the table's root URL (`s3://bucket/prefix`, `file:///path`), without a trailing
    slash. `id` is what listings show, if the catalog gives one.
    """

    name: str
    schema: str
    share: str
    location: str
    id: str | None = None
    share_id: str | None = None
    history_shared: bool = False
    start_version: int = 0
    comment: str | None = None

    @property
    def full_name(self) -> str:
        return f"{self.share}.{self.schema}.{self.name}"

    @property
    def index_id(self) -> str:
        """Names the table's manifests: one index per location, however many shares hold it."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, self.location))


@dataclass(frozen=True, slots=True)
class Schema:
    name: str
    share: str
    tables: tuple[Table, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Share:
    name: str
    schemas: tuple[Schema, ...] = ()
    id: str | None = None
    display_name: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token of a recipient, known only by its hash (SHA-256, lower-case hex)."""

    sha256: str
    not_before_ms: int | None = None
    expires_at_ms: int | None = None

    def valid_at(self, now_ms: int) -> bool:
        return (self.not_before_ms is None or self.not_before_ms <= now_ms) and (
            self.expires_at_ms is None or now_ms < self.expires_at_ms
        )


@dataclass(frozen=True, slots=True)
class Recipient:
    """Who may read: the names of granted shares (lower case; None grants all), and tokens."""

    name: str
    shares: frozenset[str] | None
    tokens: tuple[Token, ...] = ()
    comment: str | None = None

    def granted(self, share: str) -> bool:
        return self.shares is None or share.lower() in self.shares


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The `delta-sharing-capabilities` request header.

    `response_formats` in the client's order; empty where the client named none.
    """

    response_formats: tuple[str, ...] = ()
    reader_features: frozenset[str] = frozenset()
    include_end_stream_action: bool = False
    async_query: bool = False

    @classmethod
    def parse(cls, header: str | None) -> "Capabilities":
        """Keys and values ignore case; unknown keys are ignored, as the protocol asks."""
        values: dict[str, str] = {}
        for item in (header or "").lower().split(";"):
            key, _, value = item.partition("=")
            values[key.strip()] = value.strip()

        def names(key: str) -> tuple[str, ...]:
            return tuple(name.strip() for name in values.get(key, "").split(",") if name.strip())

        return cls(
            response_formats=names("responseformat"),
            reader_features=frozenset(names("readerfeatures")),
            include_end_stream_action=values.get("includeendstreamaction") == "true",
            async_query=values.get("asyncquery") == "true",
        )
