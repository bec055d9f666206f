from pathlib import Path

import pytest

from tests.log.builders import Log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """An empty Delta log in a folder of its own."""
    return Log(tmp_path / "table")
