"""`headgate status` over real tables, a real index and a damaged copy of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.cli.units import bytes_text, share_text, span_text
from headgate.storage.locate import StorageOptions, open_store
from tests.servers import S3Server


def status(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["status", *arguments], env={"COLUMNS": "140"})
    return result.exit_code, result.stdout


def as_json(*arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    code, output = status("--json", *arguments)
    return code, {each["tables"][0]: each for each in json.loads(output)}


def test_each_state_is_told_with_its_remedy(shop: Any) -> None:
    code, tables = as_json(*shop.options)
    assert code == 2
    told = {
        name.rpartition(".")[2]: (each["state"], each["indexedVersion"], each["lag"])
        for name, each in tables.items()
    }
    assert told == {
        "orders": ("current", 13, 0),
        "late": ("behind", 0, 2),
        "broken": ("refused", None, None),
        "never": ("not indexed", None, None),
    }
    assert tables["shop.sales.late"]["logVersion"] == 2
    assert tables["shop.sales.late"]["remedy"] == "headgate index shop.sales.late"
    assert tables["shop.sales.never"]["remedy"] == "headgate index shop.sales.never"
    assert "timeMachine" in tables["shop.sales.broken"]["cause"]
    assert tables["shop.sales.orders"]["remedy"] is None


def test_sizes_are_those_of_the_objects(shop: Any) -> None:
    code, tables = as_json("orders", *shop.options)
    assert code == 0
    [orders] = tables.values()
    folder = shop.index / "tables" / orders["tableId"]
    sizes = {file: file.stat().st_size for file in folder.rglob("*") if file.is_file()}
    assert orders["indexBytes"] == sum(sizes.values())
    assert orders["unnamedBytes"] == 0
    [epoch] = orders["epochs"]
    assert (epoch["first"], epoch["last"]) == (0, 13)
    base = sum(size for file, size in sizes.items() if "base" in file.parts)
    assert epoch["baseBytes"] == base
    assert epoch["tailBytes"] == sum(sizes.values()) - base - sizes[folder / "head.json"]
    rows = epoch["baseFiles"] + epoch["tailRows"]
    assert orders["bytesPerFile"] == pytest.approx(orders["indexBytes"] / rows, abs=0.1)
    assert orders["files"] == 11


def test_the_table_for_people(shop: Any) -> None:
    code, output = status("orders", "late", *shop.options, "--verbose")
    assert code == 2
    lines = output.splitlines()
    [late] = [line for line in lines if line.startswith("shop.sales.late ") and "KB" in line]
    assert late.split()[1:5] == ["behind", "0", "2", "2"]
    assert "shop.sales.late: behind. Remedy: headgate index shop.sales.late" in lines
    assert any(line.split()[:4] == ["0", "to", "13", "1"] for line in lines)
    assert not any(line.startswith("shop.sales.orders:") for line in lines)


def test_other_sharing_options_need_a_new_index(shop: Any, tmp_path: Path) -> None:
    document = yaml.safe_load(shop.catalog.read_text())
    for table in document["shares"][0]["schemas"][0]["tables"]:
        table["historyShared"] = False
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(yaml.safe_dump(document))
    code, tables = as_json("orders", "--catalog", str(catalog), "--index", str(shop.index))
    assert code == 2
    [orders] = tables.values()
    assert orders["state"] == "stale"
    assert orders["lag"] == 0


def test_damage_is_told(shop: Any, tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(shop.index, index)
    options = ["--catalog", str(shop.catalog), "--index", str(index)]
    [orders] = as_json("orders", *options)[1].values()
    folder = index / "tables" / orders["tableId"]
    (folder / "stray.arrow").write_bytes(b"left behind")
    [sized] = as_json("orders", *options)[1].values()
    assert (sized["state"], sized["unnamedBytes"]) == ("current", len(b"left behind"))
    assert "11 B of objects that the head does not name" in status("-v", "orders", *options)[1]

    next(folder.rglob("zones.arrow")).unlink()
    code, tables = as_json("orders", *options)
    assert code == 2
    [lacking] = tables.values()
    assert lacking["state"] == "damaged"
    assert lacking["remedy"] == (
        f"delete tables/{orders['tableId']}/head.json of the index, "
        "then: headgate index shop.sales.orders"
    )
    (folder / "head.json").write_text("{}")
    [damaged] = as_json("orders", *options)[1].values()
    assert (damaged["state"], damaged["cause"]) == ("damaged", "the head of a manifest is damaged")


def test_a_log_that_is_gone(shop: Any, tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(shop.catalog.read_text().replace("tables/late", "tables/gone"))
    code, tables = as_json("late", "--catalog", str(catalog), "--index", str(shop.index))
    assert code == 2
    [gone] = tables.values()
    assert gone["state"] == "unreadable"
    assert gone["cause"] == "not a Delta table: its _delta_log holds no commit"


def test_an_unknown_table_is_an_error(shop: Any) -> None:
    code, output = status("nowhere", *shop.options)
    assert code == 1
    assert output == ""


def test_an_index_in_s3(shop: Any, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = s3_server.credentials
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server.endpoint_url)
    monkeypatch.setenv("AWS_REGION", s3_server.region)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", credentials.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", credentials.secret_access_key)
    url = f"s3://{s3_server.new_bucket('status-index')}/index"
    store = open_store(url, StorageOptions.from_env())
    for file in shop.index.rglob("*"):
        if file.is_file():
            store.put(file.relative_to(shop.index).as_posix(), file.read_bytes())
    there = as_json("--catalog", str(shop.catalog), "--index", url)
    assert there == as_json(*shop.options)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (999.6, "1.0 KB"), (1500, "1.5 KB"), (999_600, "1.0 MB")],
)
def test_bytes_text(size: float, text: str) -> None:
    assert bytes_text(size) == text


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [(-5, "0 s"), (119_999, "119 s"), (120_000, "2 min"), (47 * 3_600_000, "47 h")],
)
def test_span_text(span_ms: int, text: str) -> None:
    assert span_text(span_ms) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0%"),
        (1, 10_000, "<0.1%"),
        (9_999, 10_000, ">99.9%"),
        (1, 3, "33.3%"),
        (2, 2, "100%"),
    ],
)
def test_share_text(part: int, whole: int, text: str) -> None:
    assert share_text(part, whole) == text
