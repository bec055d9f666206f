"""The listings function as Lambda calls it: events of API Gateway in, its response format out."""

import base64
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headgate.settings import InvalidSetting, Settings
from headgate.storage.locate import StorageOptions
from tests.handlers.events import SECRET, event, publish


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


@pytest.mark.parametrize(
    "settings",
    [Settings(token_secret=SECRET.encode()), Settings(catalog="s3://bucket/catalog.json")],
)
def test_a_function_without_its_settings_does_not_start(
    module: ModuleType, settings: Settings
) -> None:
    with pytest.raises(InvalidSetting, match=r"HEADGATE_(CATALOG|TOKEN_SECRET) must"):
        module.make_handler(settings, StorageOptions())
