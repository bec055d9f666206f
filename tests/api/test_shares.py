"""The list APIs over HTTP, against the protocol's examples and the reference server's errors."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import delta_sharing
import httpx
import pytest

from headgate.api import shares
from headgate.api.app import create_app
from headgate.api.services import Services
from headgate.catalog.catalog import Catalog
from headgate.model.sharing import Recipient, Schema, Share, Table, Token
from headgate.tokens import TokenSigner

PREFIX = "/delta-sharing"
SECRET = "the-bearer-token"
NOW_MS = 1_000_000
SIGNER = TokenSigner(b"a secret of the tests, 32 bytes.")

BIG = Share(
    "Big",
    tuple(
        Schema(
            f"schema{s}",
            "Big",
            tuple(Table(f"table{t:03}", f"schema{s}", "Big", "s3://b/t") for t in range(s)),
        )
        for s in range(12)
    ),
)
DESCRIBED = Share(
    "described",
    (
        Schema(
            "s",
            "described",
            (Table("t", "s", "described", "s3://b/secret-place", "table-id", "share-id"),),
            "not part of the protocol",
        ),
    ),
    "share-id",
    "A name",
    "Ünïcode \u2028 comment",
    {"k": "v"},
)
EXAMPLE = Share(
    "vaccine_share",
    (
        Schema("acme_vaccine_ingredient_data", "vaccine_share"),
        Schema(
            "acme_vaccine_data",
            "vaccine_share",
            (
                Table(
                    "vaccine_ingredients",
                    "acme_vaccine_data",
                    "vaccine_share",
                    "s3://b/i",
                    "dcb1e680-7da4-4041-9be8-88aff508d001",
                    "edacc4a7-6600-4fbb-85f3-a62a5ce6761f",
                ),
                Table(
                    "vaccine_patients",
                    "acme_vaccine_data",
                    "vaccine_share",
                    "s3://b/p",
                    "c48f3e19-2c29-4ea3-b6f7-3899e53338fa",
                    "edacc4a7-6600-4fbb-85f3-a62a5ce6761f",
                ),
            ),
        ),
    ),
    "edacc4a7-6600-4fbb-85f3-a62a5ce6761f",
    "Vaccine Share",
    "A sample share containing vaccine-related datasets",
    {"owner": "vaccine-team", "region": "us-west-2", "created_date": "2024-01-15"},
)


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


CATALOG = Catalog(
    (BIG, DESCRIBED, EXAMPLE, Share("hidden"), *(Share(f"many{n:03}") for n in range(30))),
    (
        Recipient("all", None, (Token(hashed(SECRET)), Token(hashed("old"), None, NOW_MS))),
        Recipient("some", frozenset({"big"}), (Token(hashed("some")),)),
    ),
)


@pytest.fixture(scope="module")
def client(serve: Callable[[Any], Any]) -> Iterator[httpx.Client]:
    services = Services(lambda: CATALOG, SIGNER, lambda: NOW_MS)
    with serve(create_app(services, [shares.router])) as client:
        client.headers["Authorization"] = f"Bearer {SECRET}"
        yield client


def get(client: httpx.Client, path: str, **params: Any) -> Any:
    response = client.get(PREFIX + path, params=params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    return response.json()


def test_a_share_shows_what_the_catalog_gives(client: httpx.Client) -> None:
    assert get(client, "/shares/DESCRIBED") == {
        "share": {
            "name": "described",
            "id": "share-id",
            "displayName": "A name",
            "comment": "Ünïcode \u2028 comment",
            "properties": {"k": "v"},
        }
    }
    assert get(client, "/shares/big") == {"share": {"name": "Big"}}


def test_the_body_is_ascii(client: httpx.Client) -> None:
    assert client.get(PREFIX + "/shares/described").content.isascii()


def test_the_protocol_s_example_of_a_share(client: httpx.Client, golden: Path) -> None:
    (example,) = golden.glob("delta-sharing-examples/PROTOCOL-012-get-share.json")
    assert get(client, "/shares/vaccine_share") == json.loads(example.read_text())


def test_the_protocol_s_example_of_tables(client: httpx.Client, golden: Path) -> None:
    examples = [
        json.loads(path.read_text())
        for path in sorted(golden.glob("delta-sharing-examples/PROTOCOL-02*-list-tables-*.json"))
    ]
    (example,) = [e for e in examples if len(e.get("items", [])) == 2]
    shown = get(client, "/shares/vaccine_share/schemas/acme_vaccine_data/tables")
    keys = {"name", "schema", "share", "shareId", "id"}
    assert shown["items"] == [
        {key: item[key] for key in keys & set(item)} for item in example["items"]
    ]


def test_schemas_and_tables_hold_no_more_than_the_protocol(client: httpx.Client) -> None:
    assert get(client, "/shares/described/schemas") == {
        "items": [{"name": "s", "share": "described"}]
    }
    item = {
        "name": "t",
        "schema": "s",
        "share": "described",
        "shareId": "share-id",
        "id": "table-id",
    }
    assert get(client, "/shares/described/schemas/S/tables") == {"items": [item]}
    assert get(client, "/shares/described/all-tables") == {"items": [item]}
    assert get(client, "/shares/hidden/schemas") == {"items": []}


@pytest.mark.parametrize(
    "path",
    [
        "/shares",
        "/shares/big/schemas",
        "/shares/BIG/schemas/schema11/tables",
        "/shares/big/all-tables",
    ],
)
@pytest.mark.parametrize("max_results", [1, 2, 3, 7, 12, 500])
def test_listings_tile(client: httpx.Client, path: str, max_results: int) -> None:
    whole = get(client, path)
    assert "nextPageToken" not in whole
    collected: list[Any] = []
    params: dict[str, Any] = {"maxResults": max_results}
    while True:
        got = get(client, path, **params)
        collected += got["items"]
        assert len(got["items"]) <= max_results
        if "nextPageToken" not in got:
            break
        params["pageToken"] = got["nextPageToken"]
    assert collected == whole["items"]


def test_max_results_0_is_an_empty_page(client: httpx.Client) -> None:
    got = get(client, "/shares", maxResults=0)
    assert got["items"] == []
    assert get(client, "/shares", pageToken=got["nextPageToken"]) == get(client, "/shares")


def fails(response: httpx.Response, status: int, code: str, message: str) -> None:
    assert response.status_code == status
    assert response.json() == {"errorCode": code, "message": message}
    assert response.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("value", ["-1", "501", "3000000000"])
def test_max_results_out_of_range(client: httpx.Client, value: str) -> None:
    fails(
        client.get(PREFIX + "/shares", params={"maxResults": value}),
        400,
        "INVALID_PARAMETER_VALUE",
        "Acceptable values of 'maxResults' are 0 to 500, inclusive. (Default: 500)",
    )


def test_a_page_token_is_bound_to_endpoint_parent_and_recipient(client: httpx.Client) -> None:
    token = get(client, "/shares/big/schemas", maxResults=1)["nextPageToken"]
    assert get(client, "/shares/BIG/schemas", pageToken=token)
    asked: list[tuple[str, dict[str, str]]] = [
        (path, {}) for path in ("/shares", "/shares/described/schemas", "/shares/big/all-tables")
    ]
    asked.append(("/shares/big/schemas", {"Authorization": "Bearer some"}))
    for path, headers in asked:
        response = client.get(PREFIX + path, params={"pageToken": token}, headers=headers)
        fails(response, 400, "INVALID_PARAMETER_VALUE", "invalid 'nextPageToken'")
    fails(
        client.get(PREFIX + "/shares", params={"pageToken": "randomPageToken"}),
        400,
        "INVALID_PARAMETER_VALUE",
        "invalid 'nextPageToken'",
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/shares/absent", "share 'absent' not found"),
        ("/shares/absent/schemas", "share 'absent' not found"),
        ("/shares/absent/schemas/s/tables", "share 'absent' not found"),
        ("/shares/absent/all-tables", "share 'absent' not found"),
        ("/shares/big/schemas/absent/tables", "schema 'absent' not found"),
    ],
)
def test_what_does_not_exist(client: httpx.Client, path: str, message: str) -> None:
    fails(client.get(PREFIX + path), 404, "RESOURCE_DOES_NOT_EXIST", message)
    assert client.head(PREFIX + path).content == b""


def test_what_is_not_granted_does_not_exist(client: httpx.Client) -> None:
    as_some = {"Authorization": "Bearer some"}
    listed = client.get(PREFIX + "/shares", headers=as_some).json()
    assert listed == {"items": [{"name": "Big"}]}
    for path in ("", "/schemas", "/all-tables", "/schemas/s/tables"):
        response = client.get(PREFIX + "/shares/hidden" + path, headers=as_some)
        fails(response, 404, "RESOURCE_DOES_NOT_EXIST", "share 'hidden' not found")


LISTING = re.compile(r"/shares(/[^/]+(/schemas(/[^/]+/tables)?|/all-tables)?)?(\?|$)")


def test_the_reference_server_s_error_cases_of_listings(client: httpx.Client, golden: Path) -> None:
    path = golden / "delta-sharing-examples" / "reference-server-error-cases.json"
    cases = [
        case
        for case in json.loads(path.read_text())
        if case["method"] == "GET" and LISTING.match(case["url"])
    ]
    assert cases
    for case in cases:
        response = client.get(PREFIX + case["url"])
        assert response.status_code == case["status"]
        assert case["message"] in response.json()["message"]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_ignores_case(client: httpx.Client, scheme: str) -> None:
    response = client.get(PREFIX + "/shares", headers={"Authorization": f"{scheme} {SECRET}"})
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (None, "required"),
        ("", "required"),
        ("Bearer", "required"),
        (f"Basic {SECRET}", "required"),
        (SECRET, "required"),
        ("Bearer wrong", "not valid"),
        ("Bearer é", "not valid"),
        (f"Bearer {SECRET}x", "not valid"),
        (f"Bearer {hashed(SECRET)}", "not valid"),
        ("Bearer old", "expired"),
    ],
)
@pytest.mark.parametrize("path", ["/shares", "/shares/absent", "/shares?maxResults=x"])
def test_without_a_valid_token(
    client: httpx.Client, path: str, header: str | None, message: str
) -> None:
    request = client.build_request("GET", PREFIX + path)
    del request.headers["Authorization"]
    if header is not None:
        raw = (b"Authorization", header.encode("latin-1"))
        request.headers = httpx.Headers([*request.headers.raw, raw])
    response = client.send(request)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["errorCode"] == "UNAUTHENTICATED"
    assert message in response.json()["message"]
    assert SECRET not in response.text


def test_a_revoked_token_is_refused_at_once(serve: Callable[[Any], Any]) -> None:
    now = [CATALOG]
    services = Services(lambda: now[0], SIGNER, lambda: NOW_MS)
    with serve(create_app(services, [shares.router], prefix="/")) as client:
        client.headers["Authorization"] = f"Bearer {SECRET}"
        assert client.get("/shares").status_code == 200
        now[0] = Catalog(CATALOG.shares, CATALOG.recipients[1:])
        assert client.get("/shares").status_code == 401


def test_the_python_client_lists_everything(client: httpx.Client, tmp_path: Path) -> None:
    profile = tmp_path / "x.share"
    endpoint = f"http://127.0.0.1:{client.base_url.port}{PREFIX}/"
    profile.write_text(
        json.dumps({"shareCredentialsVersion": 1, "endpoint": endpoint, "bearerToken": SECRET})
    )
    sharing = delta_sharing.SharingClient(str(profile))
    assert [share.name for share in sharing.list_shares()] == [
        share.name for share in sorted(CATALOG.shares, key=lambda share: share.name.lower())
    ]
    listed = {(table.share, table.schema, table.name) for table in sharing.list_all_tables()}
    assert listed == {(table.share, table.schema, table.name) for table in CATALOG.tables()}
