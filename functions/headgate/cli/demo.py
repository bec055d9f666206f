"""`headgate demo`: the whole way from a Delta log to a recipient's DataFrame, on this machine."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.errors import HeadgateError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from rich.console import Console

    from headgate.cli.demo_tables import DemoTable

_SHARE, _SCHEMA = "demo", "default"


class DemoFailed(HeadgateError):
    """What came back is not what was written."""


def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Folder to work in, kept. [default: a temporary one]")
    ] = None,
    keep_serving: Annotated[
        bool, typer.Option("--keep-serving", help="Leave the server running until Ctrl-C.")
    ] = False,
) -> None:
    """Build Delta tables, index them with Spark, serve them, and read them back.

    The tables are read with the official Delta Sharing client, in both response formats, with and
    without predicates, and compared with what was written. Takes about a minute.
    """
    import tempfile

    from headgate.cli.requirements import require_package, require_spark

    require_spark()
    require_package("deltalake", "demo")
    require_package("delta_sharing", "demo")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DemoFailed(f"{folder} is not empty: name another --folder")
        _run(folder.absolute(), keep_serving)
        return
    with tempfile.TemporaryDirectory(prefix="headgate-demo-") as made:
        _run(Path(made), keep_serving)


def _run(folder: Path, keep_serving: bool) -> None:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from headgate.catalog.loader import load_catalog
    from headgate.cli.demo_tables import build_tables
    from headgate.indexer.pipeline import Outcome, index_tables
    from headgate.indexer.session import spark_session
    from headgate.settings import Settings
    from headgate.storage.options import StorageOptions

    console = Console()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    settings = Settings(catalog=str(folder / "catalog"), index_url=str(folder / "index"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("writing Delta tables")
        tables = []
        for table in build_tables(folder / "lake"):
            tables.append(table)
            console.print(f"[bold]{table.name}[/]: {table.about}; {table.rows[None].num_rows} rows")
        _write_catalog(folder, tables)
        started = time.monotonic()
        results = index_tables(
            spark_session,
            load_catalog(folder / "catalog").tables_by_location(),
            settings.index_url,
            StorageOptions(),
            lambda step: progress.update(task, description=f"indexing with Spark: {step}"),
        )
    for result in results:
        if result.outcome is not Outcome.INDEXED:
            raise DemoFailed(f"{result.table.names[0]} was not indexed: {result.cause}")
    console.print(
        f"Indexed {len(results)} tables, {sum(result.files for result in results)} files, "
        f"in {time.monotonic() - started:.0f} s (Spark's start included).\n"
    )
    with _serving(settings) as endpoint:
        profile = _add_recipient(folder, endpoint)
        _read_back(console, profile, endpoint, tables)
        console.print(f"\nEverything read back equals what was written. Profile: {profile}")
        if keep_serving:
            _explain_and_wait(console, profile)


def _write_catalog(folder: Path, tables: "list[DemoTable]") -> None:
    lines = ["shares:", f"  - name: {_SHARE}", "    schemas:", f"      - name: {_SCHEMA}"]
    lines.append("        tables:")
    for table in tables:
        lines.append(f"          - name: {table.name}")
        lines.append(f"            location: ../lake/{table.folder.name}")
        lines.append("            historyShared: true")
    (folder / "catalog").mkdir()
    (folder / "catalog" / "shares.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def _serving(settings: Any) -> Iterator[str]:
    """Runs the embedded server on a free port; gives its endpoint."""
    from headgate.local.server import bind_socket, local_app, make_server, origin_of

    def refuse(error: Exception) -> None:
        raise error

    listener = bind_socket("127.0.0.1", 0)
    origin = origin_of(listener)
    server = make_server(local_app(settings, origin, refuse))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"{origin}{settings.prefix}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def _add_recipient(folder: Path, endpoint: str) -> Path:
    """What `headgate recipient add demo --shares demo` does."""
    from headgate.catalog.recipient_files import new_token, recipient_file, write_recipient
    from headgate.cli.profiles import write_profile
    from headgate.model.sharing import Recipient

    token = new_token(int(time.time() * 1000) + 24 * 3_600_000)
    recipient = Recipient("demo", frozenset({_SHARE}), (token.token,))
    write_recipient(recipient_file(folder / "catalog", "demo"), recipient)
    profile = folder / "demo.share"
    write_profile(profile, endpoint, token, force=False)
    return profile


def _read_back(console: "Console", profile: Path, endpoint: str, tables: "list[DemoTable]") -> None:
    import datetime
    import json

    import delta_sharing
    import rich.table

    from headgate.cli.demo_tables import where

    def between(column: str, kind: str, low: str, high: str) -> str:
        def compare(op: str, value: str) -> dict[str, Any]:
            return {
                "op": op,
                "children": [
                    {"op": "column", "name": column, "valueType": kind},
                    {"op": "literal", "value": value, "valueType": kind},
                ],
            }

        both = [compare("greaterThanOrEqual", low), compare("lessThanOrEqual", high)]
        return json.dumps({"op": "and", "children": both})

    sales, trips, visits = tables
    listed = {table.name for table in delta_sharing.SharingClient(str(profile)).list_all_tables()}
    if listed != {table.name for table in tables}:
        raise DemoFailed(f"the client lists {sorted(listed)}")
    day = datetime.date(2026, 1, 3)
    noon = datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.UTC)
    later = noon + datetime.timedelta(hours=3)
    one_day = between("date", "date", "2026-01-03", "2026-01-03")
    three_hours = between("started_at", "timestamp", noon.isoformat(), later.isoformat())
    reads: list[tuple[DemoTable, str, dict[str, Any], pa.Table]] = [
        (sales, "all rows", {}, sales.rows[None]),
        (sales, "at version 4", {"version": 4}, sales.rows[4]),
        (
            sales,
            "date = 2026-01-03",
            {"jsonPredicateHints": one_day},
            where(sales.rows[None], "date", day, day),
        ),
        (trips, "all rows", {}, trips.rows[None]),
        (
            trips,
            "three hours of started_at",
            {"jsonPredicateHints": three_hours},
            where(trips.rows[None], "started_at", noon, later),
        ),
        (visits, "all rows", {}, visits.rows[None]),
    ]
    shown = rich.table.Table("table", "read", "format", "rows", "files", "pruned", "time")
    for table, what, arguments, expected in reads:
        for delta in (False, True):
            if table is visits and not delta:
                continue  # the parquet format cannot carry deletion vectors
            started = time.monotonic()
            frame = _load(profile, table.name, arguments, delta)
            elapsed = time.monotonic() - started
            _compare(table.name, what, frame, expected, arguments)
            considered, kept = _files(endpoint, profile, table.name, arguments)
            shown.add_row(
                table.name,
                what,
                "delta" if delta else "parquet",
                f"{len(frame):,}",
                f"{kept} of {considered}",
                f"{1 - kept / considered:.0%}",
                f"{elapsed:.2f} s",
            )
    console.print(shown)


def _load(profile: Path, name: str, arguments: dict[str, Any], delta: bool) -> "pd.DataFrame":
    import delta_sharing

    frame: pd.DataFrame = delta_sharing.load_as_pandas(
        f"{profile}#{_SHARE}.{_SCHEMA}.{name}", use_delta_format=delta, **arguments
    )
    return frame


def _compare(
    name: str, what: str, frame: "pd.DataFrame", expected: "pa.Table", arguments: dict[str, Any]
) -> None:
    """Hints let a server leave files out, so a read with them may hold more rows than match."""

    def rows(table: "pd.DataFrame") -> set[tuple[Any, ...]]:
        columns = expected.column_names
        return {tuple(map(str, row)) for row in table[columns].itertuples(index=False)}

    found, wanted = rows(frame), rows(expected.to_pandas())
    extra = found - wanted
    if wanted - found or (extra and "jsonPredicateHints" not in arguments):
        raise DemoFailed(
            f"{name}, {what}: {len(wanted - found)} rows are missing and {len(extra)} too many"
        )


def _files(endpoint: str, profile: Path, name: str, arguments: dict[str, Any]) -> tuple[int, int]:
    """Files considered and kept, as the response's headers tell them."""
    import json
    import urllib.request

    token = json.loads(profile.read_text(encoding="utf-8"))["bearerToken"]
    request = urllib.request.Request(  # noqa: S310 - http, to this process
        f"{endpoint}/shares/{_SHARE}/schemas/{_SCHEMA}/tables/{name}/query",
        data=json.dumps(arguments).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "delta-sharing-capabilities": "responseformat=delta;"
            "readerfeatures=deletionvectors,columnmapping",
        },
    )
    with urllib.request.urlopen(request) as response:  # noqa: S310 - as above
        headers = response.headers
        return int(headers["Headgate-Files-Considered"]), int(headers["Headgate-Files-Kept"])


def _explain_and_wait(console: "Console", profile: Path) -> None:
    console.print(
        "\nStill serving. In another terminal:\n\n"
        "  import delta_sharing\n"
        f"  delta_sharing.load_as_pandas('{profile}#{_SHARE}.{_SCHEMA}.trips', limit=10)\n\n"
        "Ctrl-C ends it."
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        console.print("Stopped.")
