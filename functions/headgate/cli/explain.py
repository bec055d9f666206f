"""`headgate explain`: what a query would keep of a table, and why."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.errors import CatalogError, HeadgateError, ManifestNotReady, UnsupportedOperation

if TYPE_CHECKING:
    from headgate.catalog.catalog import Catalog
    from headgate.model.sharing import Table


class CannotExplain(HeadgateError):
    """The command cannot do what it is asked; the message says what to do instead."""


def explain(
    table: Annotated[str, typer.Argument(help="A table: share.schema.table, or its end.")],
    where: Annotated[
        list[str] | None,
        typer.Option(help="SQL predicate (predicateHints); several must all hold."),
    ] = None,
    json_predicate: Annotated[
        str | None,
        typer.Option(help="JSON predicate (jsonPredicateHints), or @FILE to read one."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=0, help="Rows that suffice (limitHint).")] = None,
    version: Annotated[int | None, typer.Option(help="Version; the latest if none.")] = None,
    timestamp: Annotated[
        str | None, typer.Option(help="ISO 8601 with an offset: the version at that time.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Write a picture of zones and ranges, as SVG.")
    ] = None,
    files: Annotated[int, typer.Option(min=0, help="Kept files to show.")] = 10,
    catalog: Annotated[
        Path | None,
        typer.Option(help="Folder or file of the catalog. [default: HEADGATE_CATALOG or catalog]"),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(help="Folder or URL of the manifests. [default: HEADGATE_INDEX_URL]"),
    ] = None,
) -> None:
    """Show what a query would keep of a table, and why.

    Reads the manifests as an answer to the query does, and no data. Hints that are not used are
    told with the reason.

    Example: `headgate explain sales.orders --where "date >= '2024-06-01'" --picture orders.svg`
    """
    from rich.console import Console

    from headgate.catalog.loader import load_catalog
    from headgate.cli.explain_view import show
    from headgate.cli.options import settings_from
    from headgate.cli.picture import draw
    from headgate.query.answer import SnapshotQuery
    from headgate.query.explain import explain as explain_query
    from headgate.storage.locate import open_store
    from headgate.storage.options import StorageOptions

    settings = settings_from(catalog, index)
    chosen = find_table(load_catalog(Path(settings.catalog)), table)
    if not chosen.history_shared and (version is not None or timestamp is not None):
        raise CannotExplain(
            f"{chosen.full_name} has no shared history: set historyShared in the catalog, "
            f"then: headgate index {chosen.full_name}"
        )
    query = SnapshotQuery(
        version=version,
        timestamp=timestamp,
        predicate_hints=tuple(where or ()),
        json_predicate_hints=None if json_predicate is None else _json_text(json_predicate),
        limit_hint=limit,
    )
    store = open_store(settings.index_url, StorageOptions.from_env())
    try:
        found = explain_query(store, chosen, query, files)
    except ManifestNotReady:
        raise CannotExplain(
            f"table {chosen.full_name} is not indexed in {store.url}: "
            f"headgate index {chosen.full_name}"
        ) from None
    except UnsupportedOperation as error:
        remedy = f"Mend the table, then: headgate index {chosen.full_name}"
        raise CannotExplain(f"{str(error).removesuffix('.')}. {remedy}") from None
    console = Console()
    show(console, found)
    if picture is not None:
        try:
            picture.write_text(draw(found), encoding="utf-8")
        except OSError as error:
            raise CannotExplain(f"cannot write {picture}: {error.strerror}") from None
        console.print(f"Picture: {picture}", soft_wrap=True, highlight=False, markup=False)


def find_table(catalog: "Catalog", name: str) -> "Table":
    """The one table of this full name, or whose full name ends with it, ignoring case.

    Raises CatalogError where there is none, or more than one.
    """
    wanted = name.lower()
    tables = list(catalog.tables())
    found = [table for table in tables if table.full_name.lower() == wanted] or [
        table for table in tables if table.full_name.lower().endswith(f".{wanted}")
    ]
    if not found:
        known = ", ".join(table.full_name for table in tables[:10])
        raise CatalogError(f"no table is named {name!r}; the catalog has {known or 'none'}")
    if len(found) > 1:
        names = ", ".join(table.full_name for table in found[:10])
        raise CatalogError(f"{name!r} names more than one table, give one in full: {names}")
    return found[0]


def _json_text(given: str) -> str:
    """The predicate, or what the file behind `@` holds. Raises CannotExplain where it is no JSON:
    a server would take that for a hint to pass over, here it is a slip.
    """
    text = given
    if given.startswith("@"):
        try:
            text = Path(given[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CannotExplain(f"cannot read {given[1:]}: {error}") from None
    try:
        json.loads(text)
    except ValueError as error:
        raise CannotExplain(f"--json-predicate is not JSON: {error}") from None
    return text
