"""`headgate serve`: the embedded server."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headgate.settings import normalise_prefix

_DEFAULT_PORT = 8080


def serve(
    catalog: Annotated[
        Path | None,
        typer.Option(help="Folder or file of the catalog. [default: HEADGATE_CATALOG or catalog]"),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(help="Folder or URL of the manifests. [default: HEADGATE_INDEX_URL]"),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes a free one. [default: 8080]")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(help="URL that recipients reach the server at, if not http://HOST:PORT."),
    ] = None,
) -> None:
    """Serve the catalog's tables to Delta Sharing clients, from this machine.

    Needs manifests (`headgate index`) and a recipient (`headgate recipient add`). Tables in local
    folders are served by signed URLs of this server, tables in S3 by presigned URLs of S3.
    The OpenAPI page is at /docs.
    """
    from rich.console import Console

    from headgate.catalog.loader import load_catalog
    from headgate.cli.options import settings_from
    from headgate.local.server import bind_socket, local_app, make_server, origin_of

    console = Console(stderr=True)
    settings = settings_from(catalog, index)
    written = load_catalog(Path(settings.catalog)).server
    listener = bind_socket(host or written.host or "127.0.0.1", _port(port, written.port))
    origin = origin_of(listener) if endpoint is None else endpoint.rstrip("/")
    if written.endpoint is not None:
        settings = replace(settings, prefix=normalise_prefix(written.endpoint))
    if written.url_ttl_s is not None:
        settings = replace(settings, url_ttl_s=written.url_ttl_s)
    app = local_app(
        settings,
        origin,
        lambda error: console.print(f"[red]The catalog stays as it was:[/] {error}"),
    )
    console.print(f"Serving [bold]{origin}{settings.prefix}[/] (API page: {origin}/docs)")
    make_server(app).run(sockets=[listener])


def _port(asked: int | None, written: int | None) -> int:
    if asked is not None:
        return asked
    return _DEFAULT_PORT if written is None else written
