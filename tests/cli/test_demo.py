"""The demo, as a newcomer runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.cli.demo import DemoFailed, _compare
from headgate.cli.demo_tables import build_tables


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("headgate")
    environment = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.run(
        [command, "demo", *arguments], env=environment, capture_output=True, text=True, timeout=170
    )


def test_the_demo_reads_back_what_it_wrote(tmp_path: Path) -> None:
    result = run("--folder", str(tmp_path / "demo"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Everything read back equals what was written" in result.stdout
    assert "4 of 60" in result.stdout  # three hours of trips
    assert "1 of 5" in result.stdout  # one day of sales
    token = (tmp_path / "demo" / "demo.share").read_text().split('"bearerToken": "')[1][:40]
    assert token not in result.stdout + result.stderr


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    result = run("--folder", str(tmp_path))
    assert result.returncode == 1
    assert "is not empty" in result.stderr


def test_missing_rows_fail_it(tmp_path: Path) -> None:
    sales = next(build_tables(tmp_path))
    frame = sales.rows[None].to_pandas()
    _compare("sales", "all rows", frame, sales.rows[None], {})
    with pytest.raises(DemoFailed, match="1 rows are missing and 0 too many"):
        _compare("sales", "all rows", frame.iloc[1:], sales.rows[None], {})
    with pytest.raises(DemoFailed, match="0 rows are missing and 1 too many"):
        _compare("sales", "all rows", frame, sales.rows[None].slice(1), {})
