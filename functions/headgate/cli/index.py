"""`headgate index`: the pipeline, from the command line."""

from pathlib import Path
from typing import Annotated

import typer


def index(
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
    master: Annotated[
        str | None,
        typer.Option(help="Spark master. [default: local, or what spark-submit gives]"),
    ] = None,
    driver_memory: Annotated[
        str, typer.Option(help="Memory of Spark's process in local mode.")
    ] = "2g",
) -> None:
    """Turn the Delta logs of the catalog's tables into manifests, on Spark.

    Runs Spark in this process, on all cores. Tables whose log has not changed cost one listing. A
    table that cannot be served is reported with its cause and does not stop the others; the exit
    code is then 2.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Table

    from headgate.catalog.loader import load_catalog
    from headgate.cli.options import chosen_locations, settings_from
    from headgate.cli.requirements import require_spark
    from headgate.storage.options import StorageOptions

    require_spark()
    from headgate.indexer.pipeline import Outcome, index_tables
    from headgate.indexer.session import spark_session

    console = Console(stderr=True)
    settings = settings_from(catalog, index)
    locations = chosen_locations(load_catalog(Path(settings.catalog)), tables or [])
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting")
        results = index_tables(
            lambda: spark_session(master, driver_memory),
            locations,
            settings.index_url,
            StorageOptions.from_env(),
            lambda step: progress.update(task, description=step),
        )
    shown = Table("table", "outcome", "version", "files", "epochs", "cause")
    for result in results:
        colour = "red" if result.outcome is Outcome.REFUSED else "green"
        shown.add_row(
            ", ".join(result.table.names),
            f"[{colour}]{result.outcome}[/]",
            "" if result.version is None else str(result.version),
            f"{result.files:,}",
            str(result.epochs),
            result.cause or "",
        )
    Console().print(shown)
    if any(result.outcome is Outcome.REFUSED for result in results):
        raise typer.Exit(2)
