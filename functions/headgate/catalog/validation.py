"""The shape of a catalog file, by the JSON Schema beside this module.

The schema's own `errorMessage` says what a value must be; keys that it does not know are answered
with the nearest one that it does.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from headgate.catalog.problems import Problem
from headgate.catalog.yaml_source import Source

_KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
}


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of catalog files."""
    text = files("headgate.catalog").joinpath("schema.json").read_text(encoding="utf-8")
    parsed: Mapping[str, Any] = json.loads(text)
    return parsed


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


def shape_problems(source: Source) -> list[Problem]:
    """Every way in which the file's shape is wrong, in the order of the file's lines."""
    found = [
        source.problem(tuple(error.absolute_path), message)
        for error in _validator().iter_errors(source.document)
        for message in _messages(error)
    ]
    return sorted(found, key=lambda problem: problem.line or 0)


def _messages(error: ValidationError) -> Iterator[str]:
    subschema: Any = error.schema if isinstance(error.schema, Mapping) else {}
    instance: Any = error.instance
    wanted: Any = error.validator_value
    if error.validator == "additionalProperties":
        known = sorted(subschema.get("properties", {}))
        for key in instance:
            if key not in known:
                yield _unknown_key(key, known)
    elif error.validator == "required":
        # One error is raised per missing key: its message begins with the key's repr.
        missing = next(key for key in wanted if error.message.startswith(repr(key)))
        yield f"the key {missing!r} is missing"
    elif error.validator == "type":
        kinds = [wanted] if isinstance(wanted, str) else [kind for kind in wanted if kind != "null"]
        expected = " or ".join(_KINDS[kind] for kind in kinds)
        hint = ": put it in quotes" if _quotable(kinds, instance) else ""
        yield f"must be {expected}, not {_shown(instance)}{hint}"
    elif "errorMessage" in subschema:
        yield f"{subschema['errorMessage']}; it is {_shown(instance)}"
    else:
        yield error.message


def _unknown_key(key: object, known: list[str]) -> str:
    by_folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(key).lower(), by_folded, n=1)
    if near:
        return f"unknown key {key!r}: did you mean {by_folded[near[0]]!r}?"
    return f"unknown key {key!r}: the keys here are {', '.join(known)}"


def _quotable(kinds: list[str], value: object) -> bool:
    return kinds == ["string"] and isinstance(value, bool | int | float)


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}… ({len(str(value))} characters)"
