"""The catalog in memory: what is shared, with whom, and who is asking.

Names are looked up ignoring case, in constant time. A share that a recipient is not granted looks
exactly like one that does not exist. Messages are the reference server's.
"""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from headgate.errors import ResourceNotFound, Unauthenticated
from headgate.model.sharing import Recipient, Schema, Share, Table, Token


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a reference-server file says of the server itself; None where it is silent.

    Source: the reference server's configuration keys `host`, `port`, `endpoint` (a path),
    `preSignedUrlTimeoutSeconds`, `queryTablePageSizeLimit`, `queryTablePageTokenTtlMs`.
    """

    host: str | None = None
    port: int | None = None
    endpoint: str | None = None
    url_ttl_s: int | None = None
    page_size_limit: int | None = None
    page_token_ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SharedLocation:
    """One location that is shared, under however many names: the unit of indexing.

    `start_version` is the earliest version whose history is shared; 0 where none is.
    """

    location: str
    index_id: str
    history_shared: bool
    start_version: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ShareIndex:
    """A share, its schemas and tables by lower-case name, each in the order of listings."""

    share: Share
    schemas: dict[str, Schema]
    tables: dict[str, dict[str, Table]]

    @classmethod
    def of(cls, share: Share) -> "_ShareIndex":
        schemas = {schema.name.lower(): schema for schema in share.schemas}
        ordered = dict(sorted(schemas.items()))
        return cls(
            share,
            ordered,
            {
                key: dict(sorted((table.name.lower(), table) for table in schema.tables))
                for key, schema in ordered.items()
            },
        )


@dataclass(frozen=True)
class Catalog:
    """Shares and recipients, valid as `catalog.loader` or `catalog.document` made them."""

    shares: tuple[Share, ...] = ()
    recipients: tuple[Recipient, ...] = ()
    server: ServerOptions = field(default_factory=ServerOptions)

    @cached_property
    def _index(self) -> dict[str, _ShareIndex]:
        return {
            share.name.lower(): _ShareIndex.of(share)
            for share in sorted(self.shares, key=lambda share: share.name.lower())
        }

    @cached_property
    def _tokens(self) -> dict[str, tuple[Recipient, Token]]:
        return {
            token.sha256: (recipient, token)
            for recipient in self.recipients
            for token in recipient.tokens
        }

    def authenticate(self, bearer_token: str, now_ms: int) -> Recipient:
        """The recipient who holds this token.

        Raises Unauthenticated. Only who presents a token that was once issued learns that it has
        expired or is not valid yet.
        """
        digest = hashlib.sha256(bearer_token.encode("utf-8", "surrogatepass")).hexdigest()
        found = self._tokens.get(digest)
        if found is None or not hmac.compare_digest(found[1].sha256, digest):
            raise Unauthenticated(
                "The bearer token is not valid. Check the profile file, or ask your share "
                "provider for a new one."
            )
        recipient, token = found
        if token.expires_at_ms is not None and token.expires_at_ms <= now_ms:
            raise Unauthenticated(
                "The bearer token has expired. Ask your share provider for a new profile file."
            )
        if not token.valid_at(now_ms):
            raise Unauthenticated("The bearer token is not valid yet.")
        return recipient

    def share(self, recipient: Recipient, share: str) -> Share:
        """Raises ResourceNotFound."""
        return self._granted(recipient, share).share

    def schema(self, recipient: Recipient, share: str, schema: str) -> Schema:
        """Raises ResourceNotFound."""
        found = self._granted(recipient, share).schemas.get(schema.lower())
        if found is None:
            raise ResourceNotFound(f"schema '{schema}' not found")
        return found

    def table(self, recipient: Recipient, share: str, schema: str, table: str) -> Table:
        """Raises ResourceNotFound, with one message whichever part is missing."""
        entry = self._index.get(share.lower()) if recipient.granted(share) else None
        tables = {} if entry is None else entry.tables.get(schema.lower(), {})
        found = tables.get(table.lower())
        if found is None:
            raise ResourceNotFound(
                f"[Share/Schema/Table] '{share}/{schema}/{table}' does not exist, "
                "please contact your share provider for further information."
            )
        return found

    def list_shares(self, recipient: Recipient) -> tuple[Share, ...]:
        """The granted shares, by name."""
        return tuple(
            entry.share for entry in self._index.values() if recipient.granted(entry.share.name)
        )

    def list_schemas(self, recipient: Recipient, share: str) -> tuple[Schema, ...]:
        """By name. Raises ResourceNotFound."""
        return tuple(self._granted(recipient, share).schemas.values())

    def list_tables(self, recipient: Recipient, share: str, schema: str) -> tuple[Table, ...]:
        """By name. Raises ResourceNotFound."""
        self.schema(recipient, share, schema)
        return tuple(self._index[share.lower()].tables[schema.lower()].values())

    def list_all_tables(self, recipient: Recipient, share: str) -> tuple[Table, ...]:
        """By schema, then by name. Raises ResourceNotFound."""
        by_schema = self._granted(recipient, share).tables.values()
        return tuple(chain.from_iterable(tables.values() for tables in by_schema))

    def tables(self) -> Iterable[Table]:
        """Every table, whoever it is shared with, in the order of listings."""
        for entry in self._index.values():
            for tables in entry.tables.values():
                yield from tables.values()

    def tables_by_location(self) -> tuple[SharedLocation, ...]:
        """One entry per distinct location, by location: what the indexer works through."""
        by_location: dict[str, list[Table]] = {}
        for table in self.tables():
            by_location.setdefault(table.location, []).append(table)
        return tuple(
            SharedLocation(
                location=location,
                index_id=tables[0].index_id,
                history_shared=any(table.history_shared for table in tables),
                start_version=min(
                    (table.start_version for table in tables if table.history_shared), default=0
                ),
                names=tuple(table.full_name for table in tables),
            )
            for location, tables in sorted(by_location.items())
        )

    def _granted(self, recipient: Recipient, share: str) -> _ShareIndex:
        entry = self._index.get(share.lower())
        if entry is None or not recipient.granted(share):
            raise ResourceNotFound(f"share '{share}' not found")
        return entry
