"""A real HTTP server for the app under test."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn


@contextmanager
def serving(app: Any) -> Iterator[httpx.Client]:
    """Serves `app` with uvicorn on a free port; gives a client of it."""
    config = uvicorn.Config(app, log_level="critical", ws="none", lifespan="off")
    server = uvicorn.Server(config)
    # asyncio turns Nagle's delay off only where the socket names its protocol; else each response
    # waits 40 ms for an acknowledgement.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            deadline = time.monotonic() + 10
            while not server.started and time.monotonic() < deadline:
                time.sleep(0.01)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(timeout=10)


@pytest.fixture(scope="session")
def serve() -> Callable[[Any], Any]:
    """`with serve(app) as client:` runs an app behind a real server."""
    return serving
