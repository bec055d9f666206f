"""The query function: events in, manifests read, NDJSON out."""

import base64
import gzip
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalog import SharedLocation
from headgate.indexer.pipeline import Outcome, index_tables
from headgate.indexer.session import spark_session
from headgate.model.sharing import Table
from headgate.settings import InvalidSetting
from headgate.storage.options import StorageOptions
from tests.handlers.events import SECRET, event, publish

TABLE = "/shares/sales/schemas/web/tables/t"


def call(handler: Any, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    request = event(path)
    if body is not None:
        request |= {"httpMethod": "POST", "body": json.dumps(body)}
        request["requestContext"]["httpMethod"] = "POST"
        request["headers"]["Accept-Encoding"] = "gzip"
        request["multiValueHeaders"]["Accept-Encoding"] = ["gzip"]
    response: dict[str, Any] = handler(request, object())
    return response


def test_an_indexed_table_is_planned_without_its_data(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version and metadata need no signer; local files, which nobody would serve, are refused."""
    location = (golden / "dat/basic_partitioned/delta").as_uri()
    table_id = Table("t", "web", "sales", location).index_id
    shared = SharedLocation(location, table_id, True, 0, ("sales.web.t",))
    index = tmp_path / "index"
    [result] = index_tables(
        lambda: spark_session("local[2]"), [shared], str(index), StorageOptions()
    )
    assert result.outcome is Outcome.INDEXED

    publish(tmp_path, "sales", location=location)
    monkeypatch.setenv("HEADGATE_CATALOG", f"{tmp_path.as_uri()}/catalog.json")
    monkeypatch.setenv("HEADGATE_TOKEN_SECRET", SECRET)
    monkeypatch.setenv("HEADGATE_PREFIX", "/")
    monkeypatch.setenv("HEADGATE_INDEX_URL", str(index))
    sys.modules.pop("headgate.handlers.query", None)
    handler = importlib.import_module("headgate.handlers.query").handler

    version = call(handler, f"{TABLE}/version")
    assert version["statusCode"] == 200
    assert version["headers"]["delta-table-version"] == "1"
    metadata = call(handler, f"{TABLE}/metadata")
    assert metadata["statusCode"] == 200
    lines = metadata["body"]
    if metadata["isBase64Encoded"]:
        lines = base64.b64decode(lines)
        lines = gzip.decompress(lines) if lines[:2] == b"\x1f\x8b" else lines
    protocol, described = map(json.loads, lines.splitlines())
    assert protocol == {"protocol": {"minReaderVersion": 1}}
    assert described["metaData"]["numFiles"] == 6
    assert call(handler, f"{TABLE}/query", {})["statusCode"] == 500


def test_a_function_without_its_settings_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADGATE_CATALOG", raising=False)
    sys.modules.pop("headgate.handlers.query", None)
    with pytest.raises(InvalidSetting, match="HEADGATE_CATALOG must"):
        importlib.import_module("headgate.handlers.query")
