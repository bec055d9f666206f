"""The generator of tables and predicates, shared by the tests that need it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

NAME = "headgate_predicate_generator"


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    """`generator.py` of this folder: test files are no packages, so it is loaded by its path."""
    if NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            NAME, Path(__file__).with_name("generator.py")
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
    return sys.modules[NAME]
