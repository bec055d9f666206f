"""The JSON body of /query, checked as the reference server checks it.

Numbers may be written as strings, and unknown fields are ignored, as its protobuf parser allows.
Source: Delta Sharing protocol, "Read Data from a Table", "Request Body".
"""

from dataclasses import dataclass
from typing import Any

import orjson

from headgate.errors import InvalidParameter, MalformedRequest

_INT32 = 2**31
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class QueryBody:
    """The fields of a /query that Headgate knows, as the request gave them."""

    predicate_hints: tuple[str, ...] = ()
    json_predicate_hints: str | None = None
    limit_hint: int | None = None
    version: int | None = None
    timestamp: str | None = None
    starting_version: int | None = None
    ending_version: int | None = None


def parse_query_body(body: bytes) -> QueryBody:
    """Raises MalformedRequest where the body is no JSON object of the right types, and
    InvalidParameter where a value is out of range.
    """
    if not body.strip():
        raise MalformedRequest("No content to map due to end-of-input")
    try:
        fields = orjson.loads(body)
    except ValueError:
        raise MalformedRequest("The request body is not valid JSON") from None
    if not isinstance(fields, dict):
        raise MalformedRequest("The request body must be a JSON object")
    parsed = QueryBody(
        predicate_hints=_strings(fields, "predicateHints"),
        json_predicate_hints=_string(fields, "jsonPredicateHints"),
        limit_hint=_integer(fields, "limitHint", _INT32),
        version=_integer(fields, "version", _INT64),
        timestamp=_string(fields, "timestamp"),
        starting_version=_integer(fields, "startingVersion", _INT64),
        ending_version=_integer(fields, "endingVersion", _INT64),
    )
    given = (parsed.version, parsed.timestamp, parsed.starting_version)
    if sum(value is not None for value in given) > 1:
        raise InvalidParameter("Please only provide one of: version,timestamp,startingVersion")
    if parsed.limit_hint is not None and parsed.limit_hint < 0:
        raise InvalidParameter("limitHint cannot be negative.")
    return parsed


def _integer(fields: dict[str, Any], name: str, bound: int) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        text = value[:64]
        try:
            value = int(text)
        except ValueError:
            raise MalformedRequest(f"Not a numeric value: {text}") from None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedRequest(f"{name} must be a whole number")
    if not -bound <= value < bound:
        raise MalformedRequest(f"Not an int{32 if bound == _INT32 else 64} value: {value}")
    return value


def _string(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise MalformedRequest(f"{name} must be a string")
    return value


def _strings(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedRequest(f"Expected an array for repeated field {name} of QueryTableRequest")
    if not all(isinstance(item, str) for item in value):
        raise MalformedRequest(f"{name} must be an array of strings")
    return tuple(value)
