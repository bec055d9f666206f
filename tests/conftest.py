"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden Delta tables; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("HEADGATE_GOLDEN", REPO.parent / "shared" / "golden"))
    if not (folder / "INDEX.md").is_file():
        pytest.skip(f"no golden tables at {folder}: set HEADGATE_GOLDEN to their folder")
    return folder
