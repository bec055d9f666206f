"""The documents say what is there: settings, commands, links."""

import re
from pathlib import Path

import pytest
import typer.main

from headgate.cli.main import app

REPO = Path(__file__).resolve().parent.parent
PAGES = sorted([*REPO.glob("*.md"), *(REPO / "docs").glob("*.md"), *REPO.glob("*/README.md")])


def test_every_setting_is_documented() -> None:
    code = "".join(
        (REPO / "functions" / "headgate" / name).read_text()
        for name in ("settings.py", "storage/options.py")
    )
    operations = (REPO / "docs" / "operations.md").read_text()
    names = set(re.findall(r"HEADGATE_[A-Z0-9_]*[A-Z0-9]", code))
    assert len(names) >= 10
    assert {name for name in names if f"`{name}`" not in operations} == set()


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text() for page in PAGES)
    commands = getattr(typer.main.get_command(app), "commands")  # noqa: B009 - typed as a Command
    assert set(commands) >= {"index", "serve", "demo", "status", "explain", "catalog", "recipient"}
    missing = {name for name in commands if f"headgate {name}" not in text}
    assert missing <= {"demo"}  # `make demo` is how it is run
    assert "make demo" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
