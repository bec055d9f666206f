"""The local storage endpoint over a real socket, as an HTTP client sees S3."""

import os
import resource
import socket
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette

from headgate.local.objects import ObjectEndpoint
from headgate.storage.buckets import LocalBuckets
from headgate.storage.credentials import random_credentials
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.options import LocalEndpoint
from headgate.storage.signers import LOCAL_REGION, LocalUrlSigner
from headgate.storage.sigv4 import PresignBatch
from tests.servers import asgi_server, free_port

BODY = bytes(range(256)) * 10_000


@pytest.fixture(scope="module")
def endpoint() -> Iterator[LocalEndpoint]:
    credentials = random_credentials()
    buckets = LocalBuckets()
    app = Starlette()
    app.mount("/storage", ObjectEndpoint(buckets, lambda: credentials))
    port = free_port()
    with asgi_server(app, port) as url:
        yield LocalEndpoint(f"{url}/storage", lambda: credentials, buckets)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ta ble"
    folder.mkdir()
    (folder / "big").write_bytes(BODY)
    (folder / "empty").write_bytes(b"")
    (tmp_path / "outside").write_bytes(b"outside")
    return folder


@pytest.fixture
def signer(root: Path, endpoint: LocalEndpoint) -> LocalUrlSigner:
    return LocalUrlSigner(root, endpoint)


def sign(signer: LocalUrlSigner, path: str) -> str:
    return signer.sign([path], 60)[0][0].decode()


def presign(endpoint: LocalEndpoint, root: Path, key: str, **changes: Any) -> str:
    arguments: dict[str, Any] = {"now_ms": int(time.time() * 1000), "ttl_s": 60, **changes}
    return (
        PresignBatch(
            endpoint.credentials(),
            S3Endpoint(LOCAL_REGION, endpoint.url, force_path_style=True),
            endpoint.buckets.add(root),
            **arguments,
        )
        .url(key)
        .decode()
    )


def error_code(response: httpx.Response) -> tuple[int, str | None]:
    assert response.headers["content-type"].startswith("application/xml")
    return response.status_code, ElementTree.fromstring(response.content).findtext("Code")


def test_get_and_head(signer: LocalUrlSigner, endpoint: LocalEndpoint, root: Path) -> None:
    answer = httpx.get(sign(signer, "big"))
    assert answer.status_code == 200
    assert answer.content == BODY
    assert answer.headers["content-length"] == str(len(BODY))
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"].strip('"')
    modified = parsedate_to_datetime(answer.headers["last-modified"]).timestamp()
    assert abs(modified - (root / "big").stat().st_mtime) < 1
    head = httpx.head(presign(endpoint, root, "big", method="HEAD"))
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-length", "etag", "last-modified", "accept-ranges", "content-type"):
        assert head.headers[name] == answer.headers[name]
    assert httpx.get(sign(signer, "empty")).content == b""


def test_the_entity_tag_follows_the_content(signer: LocalUrlSigner, root: Path) -> None:
    url = sign(signer, "big")
    first = httpx.get(url).headers["etag"]
    assert httpx.get(url).headers["etag"] == first
    (root / "big").write_bytes(b"other")
    assert httpx.get(url).headers["etag"] != first


@pytest.mark.parametrize(
    "name",
    ["p=1/a b", "a+b&c=d", "100%25", "a#b?c", "é/😀", '<>"\\', "%2F", "[]{}|^`~*", "a;b,c:d@e!$"],
)
def test_odd_names(signer: LocalUrlSigner, root: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_bytes(name.encode())
    url = sign(signer, quote(name))
    assert httpx.get(url).content == name.encode()


@pytest.mark.parametrize(
    ("header", "status", "first", "end"),
    [
        ("bytes=0-0", 206, 0, 1),
        ("bytes=5-9", 206, 5, 10),
        ("bytes=2559990-", 206, 2_559_990, 2_560_000),
        ("bytes=2559990-9999999", 206, 2_559_990, 2_560_000),
        ("bytes=-7", 206, 2_559_993, 2_560_000),
        ("bytes=-99999999", 206, 0, 2_560_000),
        ("bytes=9-5", 200, 0, 2_560_000),
        ("bytes=a-b", 200, 0, 2_560_000),
        ("bytes=0-1,5-6", 200, 0, 2_560_000),
        ("bytes=-", 200, 0, 2_560_000),
        ("lines=0-1", 200, 0, 2_560_000),
        (f"bytes=0-{'9' * 5000}", 200, 0, 2_560_000),
    ],
)
def test_ranges(signer: LocalUrlSigner, header: str, status: int, first: int, end: int) -> None:
    answer = httpx.get(sign(signer, "big"), headers={"Range": header})
    assert answer.status_code == status
    assert answer.content == BODY[first:end]
    assert answer.headers["content-length"] == str(end - first)
    expected = f"bytes {first}-{end - 1}/{len(BODY)}" if status == 206 else None
    assert answer.headers.get("content-range") == expected


def test_head_of_a_range(endpoint: LocalEndpoint, root: Path) -> None:
    url = presign(endpoint, root, "big", method="HEAD")
    answer = httpx.head(url, headers={"Range": "bytes=-7"})
    assert (answer.status_code, answer.headers["content-length"]) == (206, "7")


@pytest.mark.parametrize(
    ("name", "header"),
    [("big", "bytes=2560000-"), ("big", "bytes=-0"), ("empty", "bytes=0-"), ("empty", "bytes=-1")],
)
def test_ranges_without_a_byte(signer: LocalUrlSigner, name: str, header: str) -> None:
    answer = httpx.get(sign(signer, name), headers={"Range": header})
    assert error_code(answer) == (416, "InvalidRange")


def test_signatures_are_checked(
    signer: LocalUrlSigner, endpoint: LocalEndpoint, root: Path
) -> None:
    url = sign(signer, "big")
    assert httpx.get(url).status_code == 200
    mismatch = (403, "SignatureDoesNotMatch")
    assert error_code(httpx.get(url.replace("/big?", "/empty?"))) == mismatch
    assert error_code(httpx.get(url.replace("Expires=60", "Expires=61"))) == mismatch
    assert error_code(httpx.get(url[:-1] + ("0" if url[-1] != "0" else "1"))) == mismatch
    assert error_code(httpx.get(url.replace("127.0.0.1", "localhost"))) == mismatch
    assert error_code(httpx.get(presign(endpoint, root, "big", method="HEAD"))) == mismatch
    assert error_code(httpx.get(url.partition("?")[0])) == (403, "AccessDenied")
    head = httpx.head(url)
    assert (head.status_code, head.content) == (403, b"")
    hour_ago = int(time.time() * 1000) - 3_600_000
    expired = httpx.get(presign(endpoint, root, "big", now_ms=hour_ago, ttl_s=3_599))
    assert error_code(expired) == (403, "AccessDenied")
    assert "Request has expired" in expired.text
    another = LocalEndpoint(endpoint.url, random_credentials, endpoint.buckets)
    assert error_code(httpx.get(sign(LocalUrlSigner(root, another), "big"))) == mismatch


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_only_reading_is_allowed(signer: LocalUrlSigner, root: Path, method: str) -> None:
    answer = httpx.request(method, sign(signer, "big"), content=b"1")
    assert error_code(answer) == (405, "MethodNotAllowed")
    assert (root / "big").read_bytes() == BODY


def test_missing_objects(signer: LocalUrlSigner, root: Path, endpoint: LocalEndpoint) -> None:
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    for name in ("none", "folder", "big/below", "x" * 300, "pipe"):
        assert error_code(httpx.get(sign(signer, name))) == (404, "NoSuchKey")
    elsewhere = LocalEndpoint(endpoint.url, endpoint.credentials, LocalBuckets())
    unknown = LocalUrlSigner(root / "unknown", elsewhere)
    assert error_code(httpx.get(sign(unknown, "big"))) == (404, "NoSuchBucket")


def raw_get(url: str) -> bytes:
    """Sends the path as it is: HTTP clients would resolve `..` first."""
    parts = httpx.URL(url)
    path = url.split(f":{parts.port}", 1)[1]
    with socket.create_connection((parts.host, parts.port or 80), timeout=10) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: {parts.host}:{parts.port}\r\nConnection: close\r\n"
        connection.sendall(f"{request}\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_no_way_out_of_the_root(endpoint: LocalEndpoint, root: Path) -> None:
    (root / "inside").symlink_to(root / "empty")
    (root / "link").symlink_to(root.parent / "outside")
    (root / "up").symlink_to(root.parent)
    absolute = str(root.parent / "outside")
    for key in ("../outside", "x/../../outside", "link", "up/outside", absolute, f"/{absolute}"):
        answer = raw_get(presign(endpoint, root, key))
        assert answer.startswith(b"HTTP/1.1 404 "), key
        assert b"NoSuchKey" in answer
    encoded = presign(endpoint, root, "../outside").replace("/../", "/..%2F")
    assert raw_get(encoded).startswith(b"HTTP/1.1 404 ")
    assert raw_get(presign(endpoint, root, "inside")).startswith(b"HTTP/1.1 200 ")


def test_absolute_paths_reach_files_elsewhere(signer: LocalUrlSigner, root: Path) -> None:
    outside = (root.parent / "outside").as_uri()
    assert httpx.get(sign(signer, outside)).content == b"outside"
    assert httpx.get(sign(signer, (root / "big").as_uri())).content == BODY


def test_large_files_are_streamed(signer: LocalUrlSigner, root: Path) -> None:
    size = 3 << 30
    with (root / "sparse").open("wb") as file:
        file.truncate(size)
        file.seek(size - 3)
        file.write(b"end")
    url = sign(signer, "sparse")
    assert httpx.get(url, headers={"Range": "bytes=-3"}).content == b"end"
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with httpx.stream("GET", url) as answer:
        assert answer.headers["content-length"] == str(size)
        received = 0
        for chunk in answer.iter_raw():
            received += len(chunk)
            if received > 200 << 20:
                break
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 64 << 10
    assert httpx.get(url, headers={"Range": "bytes=0-2"}).content == b"\0\0\0"
