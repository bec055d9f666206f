"""What a JSON Schema cannot say: names, ids and hashes are unique, grants name shares, times order.

Source: Delta Sharing protocol, "Concepts" (names ignore case) and the notes on `id` in the list
APIs: a share's id is unique across the server, a table's within its share.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headgate.catalog.problems import Place, Problem, place_text
from headgate.catalog.times import instant_ms
from headgate.catalog.yaml_source import Source

REFERENCE_RECIPIENT = "default"
"""The recipient that a reference-server file's bearer token stands for; granted every share."""


def is_reference_file(source: Source) -> bool:
    return "version" in (source.document or {})


def each(parent: Mapping[str, Any], key: str, place: Place) -> Iterator[tuple[Place, Any]]:
    """The items of a list below `parent`, with their places; nothing where it is absent or null."""
    for position, item in enumerate(parent.get(key) or ()):
        yield (*place, key, position), item


def bearer_hash(source: Source) -> str | None:
    """The hash of a reference-server file's bearer token, if it has one."""
    if not is_reference_file(source):
        return None
    token = (source.document.get("authorization") or {}).get("bearerToken")
    return None if token is None else hashlib.sha256(token.encode()).hexdigest()


def recipients(source: Source) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The recipients written in a file; a reference-server file has none."""
    if not is_reference_file(source):
        yield from each(source.document or {}, "recipients", ())


class _Seen:
    """Reports what is written a second time, naming where it was first."""

    def __init__(self) -> None:
        self._first: dict[object, tuple[Source, Place]] = {}

    def add(self, key: object, source: Source, place: Place, what: str) -> Iterator[Problem]:
        first = self._first.setdefault(key, (source, place))
        if first != (source, place):
            at = place_text(first[1])
            elsewhere = at if first[0] is source else f"{first[0].path}, {at}"
            yield source.problem(place, f"{what} (first at {elsewhere})")


def meaning_problems(sources: Sequence[Source], check_grants: bool = True) -> list[Problem]:
    """The problems of files whose shape is right, taken together.

    `check_grants` is False where some file of the catalog could not be read: a share that is
    granted may be in it.
    """
    problems: list[Problem] = []
    share_names, share_ids = _Seen(), _Seen()
    granted_names: set[str] = set()
    for source in sources:
        for place, share in each(source.document or {}, "shares", ()):
            name = share["name"]
            granted_names.add(name.lower())
            problems += share_names.add(
                name.lower(),
                source,
                (*place, "name"),
                f"a second share named {name!r}: names must differ in more than case; merge the "
                "two or rename one",
            )
            if "id" in share:
                problems += share_ids.add(
                    share["id"], source, (*place, "id"), "another share has this id: change one"
                )
            problems += _share_problems(source, place, share)
    problems += _recipient_problems(sources, granted_names if check_grants else None)
    return problems


def _share_problems(source: Source, place: Place, share: Mapping[str, Any]) -> Iterator[Problem]:
    schema_names, table_ids = _Seen(), _Seen()
    for schema_place, schema in each(share, "schemas", place):
        yield from schema_names.add(
            schema["name"].lower(),
            source,
            (*schema_place, "name"),
            f"a second schema named {schema['name']!r} in this share: merge the two or rename one",
        )
        table_names = _Seen()
        for table_place, table in each(schema, "tables", schema_place):
            yield from table_names.add(
                table["name"].lower(),
                source,
                (*table_place, "name"),
                f"a second table named {table['name']!r} in this schema: remove or rename one",
            )
            if "id" in table:
                yield from table_ids.add(
                    table["id"],
                    source,
                    (*table_place, "id"),
                    "another table of this share has this id: change one",
                )


def _recipient_problems(
    sources: Sequence[Source], share_names: set[str] | None
) -> Iterator[Problem]:
    names, hashes = _Seen(), _Seen()
    for source in sources:
        bearer = bearer_hash(source)
        if bearer is not None:
            place: Place = ("authorization", "bearerToken")
            yield from names.add(
                REFERENCE_RECIPIENT,
                source,
                place,
                f"makes a recipient named {REFERENCE_RECIPIENT!r}, and there is one: rename that",
            )
            yield from hashes.add(
                bearer, source, place, "a recipient holds this token already: use another"
            )
        for place, recipient in recipients(source):
            name = recipient["name"]
            yield from names.add(
                name.lower(),
                source,
                (*place, "name"),
                f"a second recipient named {name!r}: merge the two or rename one",
            )
            grants = recipient["shares"]
            for position, share in enumerate(() if grants == "*" else grants):
                if share_names is not None and share.lower() not in share_names:
                    yield source.problem(
                        (*place, "shares", position),
                        f"there is no share named {share!r}: correct the name, or add the share"
                        + (' (write shares: "*" to grant every share)' if share == "*" else ""),
                    )
            for token_place, token in each(recipient, "tokens", place):
                yield from hashes.add(
                    token["sha256"].lower(),
                    source,
                    (*token_place, "sha256"),
                    "this token is listed already: each recipient needs a token of its own",
                )
                yield from _time_problems(source, token_place, token)


def _time_problems(source: Source, place: Place, token: Mapping[str, Any]) -> Iterator[Problem]:
    times: dict[str, int] = {}
    for key in ("notBefore", "expires"):
        if key in token:
            try:
                times[key] = instant_ms(token[key])
            except ValueError as error:
                yield source.problem((*place, key), str(error))
    if len(times) == 2 and times["expires"] <= times["notBefore"]:
        yield source.problem((*place, "expires"), "must be later than notBefore")
