"""The published catalog: one compact JSON document, read without a YAML parser.

    {"format": 1, "shares": [...], "recipients": [...], "server": {...}}

Keys that hold nothing are left out. Locations are canonical URLs and tokens are hashes, as in
memory; times are milliseconds since the epoch.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from headgate.catalog.catalog import Catalog, ServerOptions
from headgate.errors import CatalogError
from headgate.model.sharing import Recipient, Schema, Share, Table, Token

FORMAT = 1


def to_document(catalog: Catalog) -> dict[str, Any]:
    """The catalog as values that JSON has; `from_document` gives back its equal."""
    return _filled(
        format=FORMAT,
        shares=[_share(share) for share in catalog.shares],
        recipients=[_recipient(recipient) for recipient in catalog.recipients],
        server=_filled(
            **{key.name: getattr(catalog.server, key.name) for key in fields(ServerOptions)}
        ),
    )


def from_document(document: Mapping[str, Any]) -> Catalog:
    """The catalog of a published document.

    Raises CatalogError where it is not one, or is of a later format.
    """
    if document.get("format") != FORMAT:
        raise CatalogError(
            f"the published catalog has format {document.get('format')!r}, this release of "
            f"Headgate reads format {FORMAT}: publish it again, or update Headgate"
        )
    try:
        return Catalog(
            shares=tuple(_read_share(share) for share in document.get("shares", ())),
            recipients=tuple(_read_recipient(entry) for entry in document.get("recipients", ())),
            server=ServerOptions(**document.get("server", {})),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CatalogError("the published catalog is damaged: publish it again") from error


def _filled(**values: Any) -> dict[str, Any]:
    return {
        key: value
        for key, value in values.items()
        if value is not None and value != [] and value != {} and value is not False
    }


def _share(share: Share) -> dict[str, Any]:
    return _filled(
        name=share.name,
        id=share.id,
        displayName=share.display_name,
        comment=share.comment,
        properties=dict(share.properties),
        schemas=[
            _filled(
                name=schema.name,
                comment=schema.comment,
                tables=[
                    _filled(
                        name=table.name,
                        location=table.location,
                        id=table.id,
                        historyShared=table.history_shared,
                        startVersion=table.start_version or None,
                        comment=table.comment,
                    )
                    for table in schema.tables
                ],
            )
            for schema in share.schemas
        ],
    )


def _read_share(share: Mapping[str, Any]) -> Share:
    name, share_id = share["name"], share.get("id")
    return Share(
        name=name,
        id=share_id,
        display_name=share.get("displayName"),
        comment=share.get("comment"),
        properties=dict(share.get("properties", {})),
        schemas=tuple(
            Schema(
                name=schema["name"],
                share=name,
                comment=schema.get("comment"),
                tables=tuple(
                    Table(
                        name=table["name"],
                        schema=schema["name"],
                        share=name,
                        location=table["location"],
                        id=table.get("id"),
                        share_id=share_id,
                        history_shared=bool(table.get("historyShared", False)),
                        start_version=int(table.get("startVersion", 0)),
                        comment=table.get("comment"),
                    )
                    for table in schema.get("tables", ())
                ),
            )
            for schema in share.get("schemas", ())
        ),
    )


def _recipient(recipient: Recipient) -> dict[str, Any]:
    entry = _filled(
        name=recipient.name,
        tokens=[
            _filled(
                sha256=token.sha256,
                notBeforeMs=token.not_before_ms,
                expiresAtMs=token.expires_at_ms,
            )
            for token in recipient.tokens
        ],
        comment=recipient.comment,
    )
    # Always written, so that a lost key can never turn into a grant of every share.
    entry["shares"] = "*" if recipient.shares is None else sorted(recipient.shares)
    return entry


def _read_recipient(entry: Mapping[str, Any]) -> Recipient:
    shares = entry["shares"]
    return Recipient(
        name=entry["name"],
        shares=None if shares == "*" else frozenset(shares),
        tokens=tuple(
            Token(token["sha256"], token.get("notBeforeMs"), token.get("expiresAtMs"))
            for token in entry.get("tokens", ())
        ),
        comment=entry.get("comment"),
    )
