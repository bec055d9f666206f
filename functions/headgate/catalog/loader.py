"""The catalog from its files.

A catalog is one YAML file, or a folder whose `*.yaml` and `*.yml` files, at any depth, are taken
together. Each may hold `shares` and `recipients` (schema.json). A file with `version: 1` is a
configuration file of the reference server and works unchanged: its unknown keys are ignored, its
`authorization.bearerToken` becomes the recipient `default`, granted every share.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headgate.catalog.catalog import Catalog, ServerOptions
from headgate.catalog.checks import (
    REFERENCE_RECIPIENT,
    bearer_hash,
    each,
    is_reference_file,
    meaning_problems,
    recipients,
)
from headgate.catalog.problems import Place, Problem, catalog_error
from headgate.catalog.times import instant_ms
from headgate.catalog.validation import shape_problems
from headgate.catalog.yaml_source import Source, read_source
from headgate.errors import CatalogError, StorageError
from headgate.model.sharing import Recipient, Schema, Share, Table, Token
from headgate.storage.locate import normalise_location

_SUFFIXES = (".yaml", ".yml")


def catalog_files(path: Path) -> tuple[Path, ...]:
    """The files of a catalog, in order; hidden ones are left out. Raises CatalogError."""
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise CatalogError(
            f"{path} does not exist: give the folder or the file that holds the catalog"
        )
    found = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in _SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not found:
        raise CatalogError(f"{path} holds no *.yaml file: write one with a list of shares")
    return tuple(found)


def load_catalog(path: Path) -> Catalog:
    """The catalog in a folder or file.

    Raises CatalogError, which lists every problem with its file, line, place and remedy.
    """
    sources, problems = _read(catalog_files(path))
    problems += meaning_problems(sources, check_grants=not problems)
    shares: list[Share] = []
    for source in sources:
        for place, share in each(source.document or {}, "shares", ()):
            shares.append(_share(source, place, share, problems))
    server, server_problems = _server(sources)
    problems += server_problems
    if problems:
        raise catalog_error(problems)
    return Catalog(tuple(shares), tuple(_recipients(sources)), server)


def _read(paths: Sequence[Path]) -> tuple[list[Source], list[Problem]]:
    """The files whose shape is right, and the problems of the others."""
    sources: list[Source] = []
    problems: list[Problem] = []
    for path in paths:
        source = read_source(path)
        if isinstance(source, Problem):
            problems.append(source)
            continue
        found = [] if source.document is None else shape_problems(source)
        problems += found
        if not found:
            sources.append(source)
    return sources, problems


def _share(
    source: Source, place: Place, share: Mapping[str, Any], problems: list[Problem]
) -> Share:
    name, reference = share["name"], is_reference_file(source)
    described = {} if reference else share
    share_id = described.get("id")
    schemas: list[Schema] = []
    for schema_place, schema in each(share, "schemas", place):
        tables = tuple(
            Table(
                name=table["name"],
                schema=schema["name"],
                share=name,
                location=_location(source, (*table_place, "location"), table, problems),
                id=table.get("id"),
                share_id=share_id,
                history_shared=table.get("historyShared", False),
                start_version=table.get("startVersion", 0),
                comment=None if reference else table.get("comment"),
            )
            for table_place, table in each(schema, "tables", schema_place)
        )
        comment = None if reference else schema.get("comment")
        schemas.append(Schema(schema["name"], name, tables, comment))
    return Share(
        name=name,
        schemas=tuple(schemas),
        id=share_id,
        display_name=described.get("displayName"),
        comment=described.get("comment"),
        properties=dict(described.get("properties", {})),
    )


def _location(
    source: Source, place: Place, table: Mapping[str, Any], problems: list[Problem]
) -> str:
    try:
        return normalise_location(table["location"], source.path.parent.resolve())
    except (StorageError, ValueError) as error:
        problems.append(source.problem(place, str(error)))
        return ""


def _recipients(sources: Sequence[Source]) -> Iterator[Recipient]:
    for source in sources:
        bearer = bearer_hash(source)
        if bearer is not None:
            yield Recipient(REFERENCE_RECIPIENT, None, (Token(bearer),))
        for _, entry in recipients(source):
            grants = entry["shares"]
            yield Recipient(
                name=entry["name"],
                shares=None if grants == "*" else frozenset(share.lower() for share in grants),
                tokens=tuple(_token(token) for token in entry.get("tokens") or ()),
                comment=entry.get("comment"),
            )


def _token(token: Mapping[str, str]) -> Token:
    def time(key: str) -> int | None:
        return instant_ms(token[key]) if key in token else None

    return Token(token["sha256"].lower(), time("notBefore"), time("expires"))


def _server(sources: Sequence[Source]) -> tuple[ServerOptions, list[Problem]]:
    """The options of the one reference-server file, if there is one."""
    references = [source for source in sources if is_reference_file(source)]
    problems = [
        source.problem(
            ("version",), f"{references[0].path} is a reference-server file too: keep one of them"
        )
        for source in references[1:]
    ]
    given = references[0].document if references else {}
    return (
        ServerOptions(
            host=given.get("host"),
            port=given.get("port"),
            endpoint=given.get("endpoint"),
            url_ttl_s=given.get("preSignedUrlTimeoutSeconds"),
            page_size_limit=given.get("queryTablePageSizeLimit"),
            page_token_ttl_ms=given.get("queryTablePageTokenTtlMs"),
        ),
        problems,
    )
