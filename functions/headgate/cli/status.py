"""`headgate status`: how the index of each table stands against its log."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from headgate.catalog.catalog import SharedLocation
    from headgate.cli.table_status import TableStatus
    from headgate.storage.base import ObjectStore
    from headgate.storage.options import StorageOptions

_WORKERS = 8


def status(
    tables: Annotated[
        list[str] | None,
        typer.Argument(help="Tables by name (share.schema.table, or its end); all if none."),
    ] = None,
    catalog: Annotated[
        Path | None,
        typer.Option(help="Folder or file of the catalog. [default: HEADGATE_CATALOG or catalog]"),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(help="Folder or URL of the manifests. [default: HEADGATE_INDEX_URL]"),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell each epoch.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines, with epochs.")] = False,
) -> None:
    """Show how the index of each table stands against its log.

    Needs no Spark. The exit code is 2 where a table is not indexed, behind its log or refused;
    the lines below the table then say what to do.
    """
    import json

    from rich.console import Console

    from headgate.catalog.loader import load_catalog
    from headgate.cli.options import chosen_locations, settings_from
    from headgate.cli.table_status import State
    from headgate.storage.locate import open_store
    from headgate.storage.options import StorageOptions

    settings = settings_from(catalog, index)
    locations = chosen_locations(load_catalog(Path(settings.catalog)), tables or [])
    options = StorageOptions.from_env()
    found = _gather(open_store(settings.index_url, options), locations, options)
    if as_json:
        typer.echo(json.dumps([each.to_json() for each in found], indent=2))
    else:
        _show(Console(), found, verbose=verbose)
    if any(each.state is not State.CURRENT for each in found):
        raise typer.Exit(2)


def _gather(
    index: "ObjectStore", locations: "Sequence[SharedLocation]", options: "StorageOptions"
) -> "list[TableStatus]":
    """The status of each location, in their order; a few at a time, with a progress bar."""
    from concurrent.futures import ThreadPoolExecutor

    from rich.console import Console
    from rich.progress import track

    from headgate.cli.table_status import table_status

    with ThreadPoolExecutor(_WORKERS) as pool:
        found = pool.map(lambda location: table_status(index, location, options), locations)
        return list(
            track(
                found,
                "reading logs and manifests",
                total=len(locations),
                console=Console(stderr=True),
                transient=True,
            )
        )


def _show(console: "Console", found: "Sequence[TableStatus]", *, verbose: bool) -> None:
    import time

    from rich.table import Table
    from rich.text import Text

    from headgate.cli.table_status import State
    from headgate.cli.units import bytes_text, span_text

    colours = {State.CURRENT: "green", State.BEHIND: "yellow", State.STALE: "yellow"}
    now_ms = time.time_ns() // 1_000_000
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    shown.add_column("table", overflow="fold", min_width=14)
    shown.add_column("state", no_wrap=True)
    for heading in ("indexed", "in log", "lag", "files", "epochs", "size", "a file", "age"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for each in found:
        shown.add_row(
            Text("\n".join(each.table.names)),
            Text(each.state, style=colours.get(each.state, "red")),
            _number(each.indexed_version),
            _number(each.log_version),
            _number(each.lag),
            _number(each.files),
            _number(len(each.epochs)),
            bytes_text(each.index_bytes),
            "" if each.bytes_per_file is None else bytes_text(each.bytes_per_file),
            "" if each.indexed_at_ms is None else span_text(now_ms - each.indexed_at_ms),
        )
    console.print(shown)
    for each in found:
        if each.remedy is not None:
            cause = f"{each.state}, {each.cause}" if each.cause else str(each.state)
            line = Text(each.table.names[0], style="bold") + f": {cause}. Remedy: {each.remedy}"
            console.print(line, soft_wrap=True)
    if verbose:
        for each in found:
            _show_epochs(console, each)


def _show_epochs(console: "Console", status: "TableStatus") -> None:
    from rich.table import Table
    from rich.text import Text

    from headgate.cli.units import bytes_text

    console.print()
    console.print(Text(status.table.names[0], style="bold") + f"  {status.table.location}")
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("versions", "base parts", "files", "size", "tail segments", "rows", "size"):
        shown.add_column(heading, justify="right")
    for epoch in status.epochs:
        shown.add_row(
            f"{epoch.first} to {epoch.last}" if epoch.first < epoch.last else str(epoch.first),
            _number(epoch.base_parts),
            _number(epoch.base_files),
            bytes_text(epoch.base_bytes),
            _number(epoch.tail_segments),
            _number(epoch.tail_rows),
            bytes_text(epoch.tail_bytes),
        )
    console.print(shown)
    if status.unnamed_bytes:
        console.print(f"{bytes_text(status.unnamed_bytes)} of objects that the head does not name")


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
