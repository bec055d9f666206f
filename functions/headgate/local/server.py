"""The embedded server: the application that is deployed, with local directories as storage.

URLs of local files are signed by the SigV4 code that signs for S3, with credentials made at
start-up, and answered by this process (`local.objects`).
"""

import secrets
import socket
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from headgate.api import shares, tables
from headgate.api.app import create_app
from headgate.api.tables import TableServices
from headgate.catalog.catalog import Catalog
from headgate.catalog.loader import catalog_files, load_catalog
from headgate.errors import CatalogError, HeadgateError
from headgate.local.objects import ObjectEndpoint
from headgate.manifest.read import ManifestReader
from headgate.query.answer import QueryServices
from headgate.settings import Settings
from headgate.storage.base import UrlSigner
from headgate.storage.buckets import LocalBuckets
from headgate.storage.credentials import random_credentials
from headgate.storage.locate import open_signer, open_store
from headgate.storage.options import LocalEndpoint, StorageOptions
from headgate.tokens import TokenSigner

_STORAGE_PATH = "/storage"


class LocalServerError(HeadgateError):
    """The embedded server cannot start; the message says what to do."""


class CatalogFolder:
    """The catalog in a folder or file, read again when a file of it changes.

    A catalog that has become invalid leaves the last valid one in force; `on_error` is told.
    """

    def __init__(self, path: Path, on_error: Callable[[CatalogError], None]) -> None:
        self._path = path
        self._on_error = on_error
        self._lock = threading.Lock()
        self._state = self._stat()
        self._catalog = load_catalog(path)

    def __call__(self) -> Catalog:
        with self._lock:
            try:
                state = self._stat()
                if state != self._state:
                    self._state = state
                    self._catalog = load_catalog(self._path)
            except CatalogError as error:
                self._on_error(error)
            return self._catalog

    def _stat(self) -> list[tuple[Path, int]]:
        return [(file, file.stat().st_mtime_ns) for file in catalog_files(self._path)]


def local_app(
    settings: Settings, origin: str, on_catalog_error: Callable[[CatalogError], None]
) -> FastAPI:
    """The whole server as one application, whose signed URLs begin with `origin`.

    Raises CatalogError where the catalog is not valid.
    """
    buckets = LocalBuckets()
    credentials = random_credentials()

    options = StorageOptions.from_env(
        local_endpoint=LocalEndpoint(origin + _STORAGE_PATH, lambda: credentials, buckets)
    )

    @lru_cache(maxsize=1024)
    def signer(location: str) -> UrlSigner:
        return open_signer(location, options)

    reader = ManifestReader(open_store(settings.index_url, options))
    services = TableServices(
        catalog=CatalogFolder(Path(settings.catalog), on_catalog_error),
        tokens=TokenSigner(settings.token_secret or secrets.token_bytes(32)),
        query=QueryServices(reader, signer, settings.url_ttl_s),
    )
    app = create_app(services, [shares.router, tables.router], settings.prefix)
    app.mount(_STORAGE_PATH, ObjectEndpoint(buckets, lambda: credentials))
    return app


def bind_socket(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises LocalServerError where that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns Nagle's algorithm off: 40 ms a response.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        return listener
    except OSError as error:
        listener.close()
        raise LocalServerError(
            f"cannot listen on {host}:{port} ({error.strerror}): choose another --port"
        ) from error


def origin_of(listener: socket.socket) -> str:
    """`http://host:port` of a bound socket."""
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - not bound here
    return f"http://{shown}:{port}"


def make_server(app: FastAPI) -> uvicorn.Server:
    """A server that runs until its `should_exit` is set, or on SIGINT."""
    return uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
