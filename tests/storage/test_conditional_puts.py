"""Conditional puts over a network that loses answers, and a service that says 409."""

import http.client
import itertools
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from headgate.errors import PreconditionFailed, StorageError
from headgate.storage.locate import StorageOptions, open_store
from tests.servers import S3Server

_counter = itertools.count()


class Proxy(ThreadingHTTPServer):
    """Passes requests on to S3, and deals with each put as the next item of `plan` says.

    `lose`: the put happens, its answer does not arrive; `drop`: it does not even happen;
    `conflict`: S3's answer where another conditional put is under way; `500`.
    """

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target).netloc
        self.plan: list[str] = []
        self.puts = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self, status: int, body: bytes, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        step = ""
        if self.command == "PUT":
            self.server.puts += 1
            step = self.server.plan.pop(0) if self.server.plan else ""
        if step == "drop":
            self.close_connection = True
            return
        if step in ("conflict", "500"):
            code = "ConditionalRequestConflict" if step == "conflict" else "InternalError"
            error = f"<Error><Code>{code}</Code><Message>again</Message></Error>".encode()
            self._answer(409 if step == "conflict" else 500, error, [])
            return
        connection = http.client.HTTPConnection(self.server.target)
        connection.request(self.command, self.path, body or None, dict(self.headers))
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        if step == "lose":
            self.close_connection = True
            return
        self._answer(response.status, answer, response.getheaders())

    do_PUT = do_HEAD = do_GET


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[Proxy]:
    with Proxy(s3_server.endpoint_url) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def options(proxy: Proxy, s3_server: S3Server) -> StorageOptions:
    return StorageOptions(
        region=s3_server.region,
        endpoint_url=f"http://127.0.0.1:{proxy.server_port}",
        credentials=lambda: s3_server.credentials,
    )


@pytest.fixture
def url(s3_server: S3Server) -> str:
    return f"s3://{s3_server.new_bucket(f'conditional-{next(_counter)}')}/x"


@pytest.mark.parametrize(
    "plan", [["lose"], ["lose", "lose"], ["drop"], ["500", "drop"], ["conflict"]]
)
def test_a_put_that_may_have_happened_is_found_out(
    plan: list[str], proxy: Proxy, options: StorageOptions, url: str
) -> None:
    store = open_store(url, options)
    proxy.plan = list(plan)
    tag = store.put_if_absent("k", b"1")
    assert store.get_tagged("k") == (b"1", tag)
    assert proxy.puts == len(plan) + 1
    proxy.plan = list(plan)
    tag = store.put_if_match("k", b"2", tag)
    assert store.get_tagged("k") == (b"2", tag)


@pytest.mark.parametrize("step", ["lose", "drop", "500", "conflict"])
def test_a_lost_race_stays_lost(
    step: str, proxy: Proxy, options: StorageOptions, url: str, s3_server: S3Server
) -> None:
    store = open_store(url, options)
    first = store.put("k", b"1")
    open_store(url, s3_server.options).put("k", b"2")
    proxy.plan = [step]
    with pytest.raises(PreconditionFailed):
        store.put_if_match("k", b"3", first)
    proxy.plan = [step]
    with pytest.raises(PreconditionFailed):
        store.put_if_absent("k", b"3")
    assert store.get("k") == b"2"


def test_equal_content_of_another_writer_is_no_success(options: StorageOptions, url: str) -> None:
    store = open_store(url, options)
    store.put("k", b"1")
    with pytest.raises(PreconditionFailed):
        store.put_if_absent("k", b"1")


def test_attempts_end(proxy: Proxy, options: StorageOptions, url: str) -> None:
    store = open_store(url, options)
    tag = store.put("k", b"1")
    proxy.plan = ["500"] * 20
    with pytest.raises(StorageError, match="storage failed"):
        store.put_if_match("k", b"2", tag)
    proxy.plan = ["conflict"] * 20
    with pytest.raises(PreconditionFailed):
        store.put_if_match("k", b"2", tag)
    proxy.plan = []
    assert store.get_tagged("k") == (b"1", tag)
