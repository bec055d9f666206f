"""`headgate explain` over real tables: what it prints, and the picture."""

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from headgate.cli.explain_view import show
from headgate.cli.main import app
from headgate.cli.picture import draw
from headgate.query.answer import SnapshotQuery
from headgate.query.explain import explain as explain_query
from tests.query.hand_index import TABLE, File, write_index

SVG = "{http://www.w3.org/2000/svg}"
KEPT, BY_FILE = "#08519c", "#f2c14e"


def explain(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["explain", *arguments], env={"COLUMNS": "120"})
    return result.exit_code, result.output


def row(output: str, *words: str) -> list[str]:
    """The cells of the one line that begins with these words."""
    [line] = [line for line in output.splitlines() if line.split()[: len(words)] == list(words)]
    return line.split()[len(words) :]


def test_what_is_kept_and_why(shop: Any) -> None:
    code, output = explain(
        "orders",
        *shop.options,
        *("--where", "id >= 40 AND day < '2024-01-03'"),
        *("--where", "upper(name) = 'X'"),
    )
    assert code == 0
    # 11 files of 10 rows, but for the one that lost its last five: ids 10 to 114.
    assert "shop.sales.orders version 13 (" in output
    assert row(output, "id", ">=", "40")[-3:] == ["3", "files,", "27.3%"]
    assert row(output, "day", "<")[1:] == ["day", "<", "2024-01-03", "6", "files,", "54.5%"]
    assert "not used: an SQL expression that is not supported" in output
    assert row(output, "files")[:3] == ["11", "2", "9"]
    assert "Rows in kept files: 20" in output
    assert output.count("day=2024-01-02/part-") == 2


def test_reads_are_those_of_the_query(shop: Any) -> None:
    nothing = explain("orders", *shop.options, "--where", "id < 0")[1]
    assert row(nothing, "head")[0] == "1"
    assert row(nothing, "zone", "maps")[0] == "1"
    assert "answer fragments" not in nothing
    assert row(nothing, "files")[:2] == ["11", "0"]


def test_json_predicates_limits_and_versions(shop: Any, tmp_path: Path) -> None:
    predicate = {
        "op": "lessThan",
        "children": [
            {"op": "column", "name": "id", "valueType": "long"},
            {"op": "literal", "value": "30", "valueType": "long"},
        ],
    }
    file = tmp_path / "predicate.json"
    file.write_text(json.dumps(predicate))
    for given in (json.dumps(predicate), f"@{file}"):
        code, output = explain(
            "orders", *shop.options, "--json-predicate", given, "--version", "4", "--limit", "15"
        )
        assert code == 0
        assert "version 4 (" in output
        assert "limit of 15 rows" in output
        assert row(output, "files")[:2] == ["5", "2"]
        assert row(output, "CAST(id", "AS", "long)", "<")[-3:] == ["2", "files,", "40%"]
        assert "1 after the limit" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["never"], "is not indexed in file://"),
        (["never"], "headgate index shop.sales.never"),
        (["broken"], "headgate index shop.sales.broken"),
        (["late", "--version", "0"], "set historyShared in the catalog"),
        (["nowhere"], "no table is named 'nowhere'; the catalog has shop.sales.broken"),
        (["orders", "--version", "99"], "Available versions: [0, 13]"),
        (["orders", "--json-predicate", "{"], "--json-predicate is not JSON"),
        (["orders", "--json-predicate", "@absent"], "cannot read absent"),
        (["orders", "--picture", "absent/x.svg"], "cannot write absent/x.svg"),
    ],
)
def test_errors_say_what_to_do(shop: Any, arguments: list[str], message: str) -> None:
    code, output = explain(*arguments, *shop.options)
    assert code == 1
    assert message in " ".join(output.split())


def test_a_name_of_two_tables(shop: Any, tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    text = shop.catalog.read_text()
    catalog.write_text(text + text.removeprefix("shares:\n").replace("name: shop", "name: other"))
    options = ["--catalog", str(catalog), "--index", str(shop.index)]
    code, output = explain("orders", *options)
    assert code == 1
    assert "give one in full: other.sales.orders, shop.sales.orders" in " ".join(output.split())
    assert explain("Shop.sales.ORDERS", *options)[0] == 0


def picture(shop: Any, folder: Path, *arguments: str) -> ET.Element:
    file = folder / "picture.svg"
    code, output = explain("orders", *shop.options, "--picture", str(file), *arguments)
    assert code == 0
    assert f"Picture: {file}" in output
    return ET.parse(file).getroot()


def rects(svg: ET.Element, colour: str) -> list[ET.Element]:
    return [rect for rect in svg.iter(f"{SVG}rect") if rect.get("fill") == colour]


def words(svg: ET.Element) -> list[str]:
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def test_the_picture_shows_each_file(shop: Any, tmp_path: Path) -> None:
    svg = picture(shop, tmp_path, "--where", "id BETWEEN 40 AND 62")
    cells = [rect for rect in svg.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(cells) == 11
    assert sum(cell.get("fill") == KEPT for cell in cells) == 3
    texts = words(svg)
    assert "What a query keeps of shop.sales.orders" in texts
    assert "where id >= 40 and id <= 62" in texts
    assert "kept (3)" in texts
    assert "files in the order of the index" in texts
    assert "values of id that can match: 40 to 62" in texts
    # Bars lie where the axis says: kept ones, and they alone, meet the band of wanted values.
    [band] = [r for r in rects(svg, "#d9480f") if float(r.get("width", 0)) > 100]
    top = float(band.get("y", 0))
    bottom = top + float(band.get("height", 0))
    bars = [
        rect
        for colour in (KEPT, BY_FILE)
        for rect in rects(svg, colour)
        if rect.find(f"{SVG}title") is None and float(rect.get("y", 0)) > 300
    ]
    assert len(bars) >= 10
    for bar in bars:
        low = float(bar.get("y", 0)) + float(bar.get("height", 0))
        meets = low > top and float(bar.get("y", 0)) < bottom
        assert meets == (bar.get("fill") == KEPT)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("name LIKE 'order-003%'", "values of name that can match: 'order-003' to 'order-004'"),
        ("day = '2024-01-02'", "values of day that can match: 2024-01-02"),
        ("id IN (12, 700)", "values of id that can match: 12, 700"),
        ("amount <= 3", "values of amount that can match: ≤ 3"),
        ("name = '<&\u0001'", "values of name that can match: '<&\\u0001'"),
    ],
)
def test_the_picture_of_other_columns(shop: Any, tmp_path: Path, where: str, told: str) -> None:
    assert told in words(picture(shop, tmp_path, "--where", where))


def test_without_a_range_the_picture_has_no_plot(shop: Any, tmp_path: Path) -> None:
    for arguments in ([], ["--where", "id IS NULL"], ["--where", "FALSE"]):
        texts = words(picture(shop, tmp_path, *arguments))
        assert "Each file in the order of the index" in texts
        assert not any("lowest to highest" in text for text in texts)


def test_a_large_table_is_drawn_by_zones(tmp_path: Path) -> None:
    """Zones of three files; in the middle some that tell nothing of x; then a tail; a limit."""
    files = [
        File(f"f{place}", None if 900 <= place < 930 else (place * 10, place * 10 + 9))
        for place in range(1500)
    ]
    added = {f"t{place}": File(f"t{place}", (place, place)) for place in range(4)}
    store = write_index(tmp_path, [files], [added])
    query = SnapshotQuery(predicate_hints=("x >= 8000", "upper(part) = 'P'"), limit_hint=2000)
    found = explain_query(store, TABLE, query)
    svg = ET.fromstring(draw(found))
    cells = [rect for rect in svg.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(cells) == 501  # 500 zones, and the tail
    texts = words(svg)
    assert "not used: an SQL expression that is not supported" in texts
    assert "version 1, committed 1970-01-01T00:00:00Z, limit of 2,000 rows" in texts
    assert "200 of 1,504 files" in texts
    assert "ruled out by zone bounds (266)" in texts
    assert "after the limit (166)" in texts
    assert "x: lowest to highest value of each zone, 2 to a bar" in texts
    assert "values not known, or none" in texts
    assert "tail →" in texts
    assert "values of x that can match: ≥ 8,000" in texts

    console = Console(width=60, file=io.StringIO(), record=True)
    show(console, found)
    output = console.export_text()
    assert "Each zone in the order of the index, 2 to a block; the tail follows │:" in (
        " ".join(output.split())
    )
    bar = "".join(line for line in output.splitlines() if line and set(line) <= set("█▓▒░·-│"))
    assert len(bar) == 252
    assert bar.startswith("·" * 133)
    assert bar.endswith("-│░")
