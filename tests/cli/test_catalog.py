"""`headgate catalog check` and the root of the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app

REPO = Path(__file__).resolve().parents[2]
HASH = "a" * 64


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_help_names_the_commands() -> None:
    code, output = run("--help")
    assert code == 0
    for command in ("catalog", "recipient"):
        assert command in output


def test_the_example_catalog_is_valid() -> None:
    code, output = run("catalog", "check", str(REPO / "catalog"))
    assert code == 0
    assert "2 shares, 3 schemas, 4 tables, 0 recipients" in output
    assert "headgate recipient add NAME --shares retail" in output


def test_remarks(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "shares: [{name: bare}]\n"
        "recipients:\n"
        "  - {name: none, shares: '*'}\n"
        f"  - {{name: past, shares: [], tokens: [{{sha256: {HASH}, expires: 2020-01-01}}]}}\n"
        f"  - {{name: ever, shares: [], tokens: [{{sha256: {'b' * 64}}}]}}\n"
    )
    code, output = run("catalog", "check", str(tmp_path))
    assert code == 0
    assert "1 share, 0 schemas, 0 tables, 3 recipients" in output
    assert "the share 'bare' holds no table" in output
    assert "'none' has no valid token" in output
    assert "'past' has no valid token" in output
    assert "'ever'" not in output
    assert "no recipient is granted" not in output


def test_a_token_that_expires_soon_is_remarked(tmp_path: Path) -> None:
    from headgate.catalog.loader import load_catalog
    from headgate.cli.catalog import remarks

    (tmp_path / "c.yaml").write_text(
        "recipients:\n"
        f"  - {{name: soon, shares: [], tokens: [{{sha256: {HASH}, expires: 1970-01-20}}]}}\n"
    )
    loaded = load_catalog(tmp_path)
    day_ms = 86_400_000
    assert remarks(loaded, 4 * day_ms) == []
    (remark,) = remarks(loaded, 5 * day_ms)
    assert "'soon' expires at 1970-01-20T00:00:00Z: headgate recipient rotate soon" in remark


def test_a_wrong_catalog_exits_with_1_and_no_trace(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("shares: [{nam: x}]")
    environment = {**os.environ, "HEADGATE_CATALOG": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-m", "headgate.cli.main", "catalog", "check"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: 2 problems in the catalog:")
    assert f"{tmp_path / 'c.yaml'}:1: shares[0]: unknown key 'nam': did you mean 'name'?" in (
        result.stderr
    )
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [["catalog", "check", "absent"], ["recipient", "list"]])
def test_an_absent_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, output = run(*arguments)
    assert code == 1
    assert "does not exist" in output
