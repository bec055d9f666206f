"""Fixtures that every test may use."""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.servers import S3Server, s3_server_process

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden Delta tables; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("HEADGATE_GOLDEN", REPO.parent / "shared" / "golden"))
    if not (folder / "INDEX.md").is_file():
        pytest.skip(f"no golden tables at {folder}: set HEADGATE_GOLDEN to their folder")
    return folder


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """S3 on a free port; it refuses requests and URLs that are not signed as they should be."""
    with s3_server_process() as server:
        yield server


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    """Random tables and predicates: `tests/predicates/generator.py`."""
    return importlib.import_module("tests.predicates.generator")
