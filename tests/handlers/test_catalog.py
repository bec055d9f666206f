"""The listings function as Lambda calls it: events of API Gateway in, its response format out."""

import base64
import hashlib
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

from headgate.catalog.catalog import Catalog
from headgate.catalog.document import to_document
from headgate.errors import CatalogError, ObjectNotFound
from headgate.model.sharing import Recipient, Schema, Share, Table, Token
from headgate.settings import InvalidSetting, Settings
from headgate.storage.local import LocalObjectStore
from headgate.storage.locate import StorageOptions

TOKEN = "a-token-of-at-least-thirty-two-characters"
SECRET = "0123456789abcdef0123456789abcdef"


def publish(folder: Path, *shares: str) -> None:
    """Publishes a catalog of these shares, all granted to the holder of TOKEN."""
    catalog = Catalog(
        shares=tuple(
            Share(name, (Schema("web", name, (Table("t", "web", name, "s3://lake/t"),)),))
            for name in shares
        ),
        recipients=(Recipient("acme", None, (Token(hashlib.sha256(TOKEN.encode()).hexdigest()),)),),
    )
    (folder / "catalog.json").write_bytes(orjson.dumps(to_document(catalog)))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    publish(tmp_path, "sales", "stock")
    monkeypatch.setenv("HEADGATE_CATALOG", f"{tmp_path.as_uri()}/catalog.json")
    monkeypatch.setenv("HEADGATE_TOKEN_SECRET", SECRET)
    monkeypatch.setenv("HEADGATE_PREFIX", "/")
    name = "headgate.handlers.catalog"
    sys.modules.pop(name, None)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


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


def answer(module: ModuleType, *args: Any, **query: str) -> tuple[int, Any]:
    response = module.handler(event(*args, **query), object())
    body = response["body"]
    if response["isBase64Encoded"]:
        body = base64.b64decode(body)
    return response["statusCode"], json.loads(body)


def test_lists_what_the_published_catalog_holds(module: ModuleType) -> None:
    status, body = answer(module, "/shares")
    assert status == 200
    assert [share["name"] for share in body["items"]] == ["sales", "stock"]
    status, body = answer(module, "/shares/sales/all-tables")
    assert status == 200
    assert [table["name"] for table in body["items"]] == ["t"]


def test_pages_lists_with_tokens_under_the_shared_secret(module: ModuleType) -> None:
    status, first = answer(module, "/shares", maxResults="1")
    assert status == 200
    assert [share["name"] for share in first["items"]] == ["sales"]
    other = module.make_handler(Settings.from_env(), StorageOptions.from_env())
    response = other(event("/shares", maxResults="1", pageToken=first["nextPageToken"]), object())
    assert [share["name"] for share in json.loads(response["body"])["items"]] == ["stock"]


@pytest.mark.parametrize("token", [None, "another-token-of-thirty-two-characters"])
def test_a_wrong_token_is_refused_in_the_protocols_words(
    module: ModuleType, token: str | None
) -> None:
    status, body = answer(module, "/shares", token)
    assert status == 401
    assert body["errorCode"] == "UNAUTHENTICATED"


def test_an_unknown_path_is_a_404(module: ModuleType) -> None:
    assert answer(module, "/shares/nobody")[0] == 404


def test_a_new_catalog_is_read_when_the_old_one_is_too_old(
    module: ModuleType, tmp_path: Path
) -> None:
    kept = module.PublishedCatalog(LocalObjectStore(tmp_path), "catalog.json", ttl_s=3600)
    fresh = module.PublishedCatalog(LocalObjectStore(tmp_path), "catalog.json", ttl_s=0)
    assert [len(catalog().shares) for catalog in (kept, fresh)] == [2, 2]
    publish(tmp_path, "sales")
    assert [len(catalog().shares) for catalog in (kept, fresh)] == [2, 1]


def test_a_lost_or_damaged_catalog_grants_nothing(module: ModuleType, tmp_path: Path) -> None:
    catalog = module.PublishedCatalog(LocalObjectStore(tmp_path), "catalog.json", ttl_s=0)
    catalog()
    (tmp_path / "catalog.json").write_bytes(b"{")
    with pytest.raises(CatalogError, match="damaged"):
        catalog()
    (tmp_path / "catalog.json").unlink()
    with pytest.raises(ObjectNotFound):
        catalog()


@pytest.mark.parametrize(
    "settings",
    [Settings(token_secret=SECRET.encode()), Settings(catalog="s3://bucket/catalog.json")],
)
def test_a_function_without_its_settings_does_not_start(
    module: ModuleType, settings: Settings
) -> None:
    with pytest.raises(InvalidSetting, match=r"HEADGATE_(CATALOG|TOKEN_SECRET) must"):
        module.make_handler(settings, StorageOptions())
