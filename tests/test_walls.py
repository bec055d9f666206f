"""What a function loads: the modules that a fresh process holds after importing its code."""

import json
import subprocess
import sys

import pytest

HEAVY = {"pyarrow", "boto3", "botocore", "pyspark", "deltalake", "yaml", "jsonschema", "pandas"}


def loaded_by(*modules: str) -> set[str]:
    """The top-level names of all modules loaded by importing these in a fresh process."""
    code = (
        f"import importlib, json, sys; [importlib.import_module(m) for m in {modules!r}];"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(run.stdout))


def test_listing_shares_loads_nothing_heavy() -> None:
    loaded = loaded_by(
        "headgate.api.app",
        "headgate.api.shares",
        "headgate.catalog.document",
        "headgate.settings",
    )
    assert "fastapi" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("module", ["headgate.cli.main"])
def test_the_command_line_starts_light(module: str) -> None:
    loaded = loaded_by(module)
    assert loaded & (HEAVY | {"fastapi", "uvicorn", "sqlglot", "obstore"}) == set()
