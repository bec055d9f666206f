"""The walls of DESIGN.md: who may import whom, and what each Lambda function may load and hold."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parent.parent
HEAVY = ("boto3", "botocore", "deltalake", "jsonschema", "pandas", "pyarrow", "pyspark", "yaml")


def test_import_contracts_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([linter, "--no-cache"], cwd=REPO, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "module",
    [
        "headgate.errors",
        "headgate.settings",
        "headgate.tokens",
        "headgate.model.actions",
        "headgate.model.sharing",
        "headgate.catalog.document",
        "headgate.catalog.listings",
        "headgate.handlers.catalog",
    ],
)
def test_listings_load_nothing_heavy(module: str) -> None:
    assert loaded_by(module, HEAVY) == set()


def test_queries_load_no_other_replay_engine() -> None:
    unwanted = ("boto3", "botocore", "deltalake", "pandas", "pyspark")
    assert loaded_by("headgate.handlers.query", unwanted) == set()


def test_the_command_line_starts_light() -> None:
    unwanted = (*HEAVY, "fastapi", "obstore", "sqlglot", "uvicorn")
    assert loaded_by("headgate.cli.main", unwanted) == set()


def loaded_by(module: str, watched: tuple[str, ...]) -> set[str]:
    """Which of the `watched` packages a fresh process holds after importing `module`."""
    code = f"import sys, {module}; print(*(set(sys.modules) & set({watched!r})))"
    environment = {
        "PATH": "/usr/bin:/bin",
        # Credentials of an imaginary role, as Lambda's environment has them: nothing is called.
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AWS_REGION": "eu-central-1",
        "HEADGATE_CATALOG": "s3://bucket/catalog.json",
        "HEADGATE_INDEX_URL": "s3://bucket/index",
        "HEADGATE_TOKEN_SECRET": "0123456789abcdef0123456789abcdef",
    }
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


@pytest.mark.parametrize(
    ("group", "absent"),
    [
        ("function-catalog", {"boto3", "deltalake", "pyarrow", "pyspark", "py4j"}),
        ("function-query", {"boto3", "deltalake", "pandas", "pyspark", "py4j"}),
    ],
)
def test_packages_hold_only_what_their_function_needs(group: str, absent: set[str]) -> None:
    held = locked(group)
    assert {"fastapi", "mangum", "obstore", "orjson"} <= held
    assert held & absent == set()


def test_the_pipeline_is_the_only_use_of_spark() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    assert not any(entry.startswith("pyspark") for entry in project["dependencies"])
    assert any(entry.startswith("pyspark") for entry in project["optional-dependencies"]["spark"])


def locked(group: str) -> set[str]:
    """Every package that the lock file gives a dependency group, indirect ones included."""
    lock = tomllib.loads((REPO / "uv.lock").read_text())
    packages: dict[str, list[Mapping[str, Any]]] = {}
    for package in lock["package"]:
        packages.setdefault(package["name"], []).append(package)
    (project,) = packages["headgate"]
    found: set[str] = set()
    queue = list(project["dev-dependencies"][group])
    while queue:
        wanted = queue.pop()
        name = wanted["name"]
        extras = wanted.get("extra", [])
        if name in found and not extras:
            continue
        found.add(name)
        for package in packages[name]:
            queue += package.get("dependencies", [])
            for extra in extras:
                queue += package.get("optional-dependencies", {}).get(extra, [])
    return found
