"""Every error is answered in the protocol's form, and none of them tells a secret."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, HTTPException
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from headgate.api import shares
from headgate.api.app import create_app
from headgate.api.services import Services
from headgate.catalog.catalog import Catalog
from headgate.errors import Forbidden, ManifestNotReady, UnsupportedOperation
from headgate.tokens import TokenSigner

ERRORS = {
    "forbidden": Forbidden("not yours"),
    "unsupported": UnsupportedOperation("cannot"),
    "later": ManifestNotReady("not indexed yet"),
}


class Body(BaseModel):
    count: int


def faulty_router() -> APIRouter:
    router = APIRouter()

    @router.get("/raise/{kind}")
    @router.head("/raise/{kind}")
    async def raise_error(kind: str) -> None:
        if kind in ERRORS:
            raise ERRORS[kind]
        if kind.isdigit():
            raise HTTPException(int(kind), "of the framework")
        raise RuntimeError("a private detail")

    @router.post("/body")
    async def body(body: Body) -> None:
        return None

    @router.get("/broken")
    async def broken() -> StreamingResponse:
        async def lines() -> AsyncIterator[bytes]:
            yield b"first line\n"
            raise RuntimeError("a private detail")

        return StreamingResponse(lines())

    return router


def app() -> FastAPI:
    services = Services(Catalog, TokenSigner(b"a secret of the tests, 32 bytes."))
    return create_app(services, [shares.router, faulty_router()], prefix="p")


@pytest.fixture(scope="module")
def client(serve: Callable[[Any], Any]) -> Iterator[httpx.Client]:
    with serve(app()) as client:
        yield client


def body_of(response: httpx.Response, status: int) -> tuple[str, str]:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert set(response.json()) == {"errorCode", "message"}
    return response.json()["errorCode"], response.json()["message"]


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("forbidden", 403, "FORBIDDEN"),
        ("unsupported", 400, "UNSUPPORTED_OPERATION"),
        ("later", 503, "TEMPORARILY_UNAVAILABLE"),
    ],
)
def test_an_error_of_ours(client: httpx.Client, kind: str, status: int, code: str) -> None:
    assert body_of(client.get(f"/p/raise/{kind}"), status) == (code, ERRORS[kind].message)
    head = client.head(f"/p/raise/{kind}")
    assert (head.status_code, head.content) == (status, b"")


def test_any_other_error_says_nothing_and_is_logged(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="headgate.api.errors"):
        response = client.get(
            "/p/raise/other?pageToken=private-token", headers={"Authorization": "Bearer private"}
        )
    assert body_of(response, 500) == ("INTERNAL_ERROR", "")
    (record,) = [r for r in caplog.records if r.name == "headgate.api.errors"]
    assert record.getMessage() == "GET '/p/raise/other' failed"
    assert record.exc_info is not None
    assert "a private detail" in caplog.text
    assert "private-token" not in caplog.text
    assert "Bearer" not in caplog.text


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [(413, "MALFORMED_REQUEST", "of the framework"), (502, "INTERNAL_ERROR", "")],
)
def test_other_errors_of_the_framework(
    client: httpx.Client, status: int, code: str, message: str
) -> None:
    assert body_of(client.get(f"/p/raise/{status}"), status) == (code, message)


def test_the_head_of_an_internal_error(client: httpx.Client) -> None:
    head = client.head("/p/raise/other")
    assert (head.status_code, head.content) == (500, b"")


def test_an_answer_that_breaks_off_is_not_taken_for_whole(client: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("/p/broken")


@pytest.mark.parametrize("path", ["/", "/p", "/p/other", "/shares", "/p/shares/", "/p//shares"])
def test_an_unknown_path(client: httpx.Client, path: str) -> None:
    code, message = body_of(client.get(path), 404)
    assert code == "RESOURCE_DOES_NOT_EXIST"
    assert message == f"there is no endpoint at {path}"
    assert client.head(path).content == b""


def test_a_method_that_is_not_supported(client: httpx.Client) -> None:
    response = client.delete("/p/shares")
    assert body_of(response, 405) == (
        "UNSUPPORTED_OPERATION",
        "DELETE is not supported at /p/shares",
    )
    assert response.headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "JSON decode error"),
        (b"", "Field required"),
        (b'{"count": "x"}', "count: expected a number but the string"),
        (b'{"count": []}', "count: "),
    ],
)
def test_a_body_that_is_not_valid(client: httpx.Client, content: bytes, message: str) -> None:
    response = client.post("/p/body", content=content, headers={"Content-Type": "application/json"})
    code, told = body_of(response, 400)
    assert code == "MALFORMED_REQUEST"
    assert message in told


def test_the_openapi_page(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["info"]["title"] == "Headgate"
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    listing = document["paths"]["/p/shares/{share}/schemas/{schema}/tables"]["get"]
    assert {parameter["name"] for parameter in listing["parameters"]} == {
        "share",
        "schema",
        "maxResults",
        "pageToken",
    }
    assert "422" not in listing["responses"]
    table = document["components"]["schemas"]["TableItem"]["properties"]
    assert set(table) == {"name", "schema", "share", "shareId", "id"}
    assert client.get("/docs").status_code == 200
