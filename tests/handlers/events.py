"""A published catalog, and the events that API Gateway sends."""

import hashlib
from pathlib import Path
from typing import Any

import orjson

from headgate.catalog.catalog import Catalog
from headgate.catalog.document import to_document
from headgate.model.sharing import Recipient, Schema, Share, Table, Token

TOKEN = "a-token-of-at-least-thirty-two-characters"
SECRET = "0123456789abcdef0123456789abcdef"


def publish(folder: Path, *shares: str, location: str = "s3://lake/t") -> None:
    """Publishes a catalog of these shares, all granted to the holder of TOKEN."""
    catalog = Catalog(
        shares=tuple(
            Share(name, (Schema("web", name, (Table("t", "web", name, location),)),))
            for name in shares
        ),
        recipients=(Recipient("acme", None, (Token(hashlib.sha256(TOKEN.encode()).hexdigest()),)),),
    )
    (folder / "catalog.json").write_bytes(orjson.dumps(to_document(catalog)))


def event(path: str, token: str | None = TOKEN, **query: str) -> dict[str, Any]:
    """A proxy event of a REST API (payload format 1.0)."""
    headers = {"Host": "abc.execute-api.eu-central-1.amazonaws.com", "Accept": "*/*"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": "GET",
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": query or None,
        "multiValueQueryStringParameters": {k: [v] for k, v in query.items()} or None,
        "pathParameters": {"proxy": path.lstrip("/")},
        "requestContext": {
            "stage": "delta-sharing",
            "path": f"/delta-sharing{path}",
            "httpMethod": "GET",
            "requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
            "identity": {"sourceIp": "192.0.2.1"},
        },
        "body": None,
        "isBase64Encoded": False,
    }
