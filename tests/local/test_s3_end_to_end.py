"""A Delta table in S3, indexed to S3 by the command line, served, and read by the official client.

The S3 is one that verifies every signature. The pipeline gets temporary credentials from its
environment, on the driver and on the executors; the server is run with lasting ones and with
temporary ones.
"""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import delta_sharing
import deltalake
import httpx
import pandas as pd
import pyarrow as pa
import pytest

from headgate.local.server import local_app
from headgate.settings import Settings
from headgate.storage.credentials import Credentials
from headgate.storage.locate import open_store
from tests.servers import S3Server, asgi_server, free_port

# The client passes `copy` to pandas, which has deprecated it.
pytestmark = pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")

TOKEN = "a recipient's token"
INDEX = "s3://manifests/all of/them"
# A root and partition values that a signer must encode.
LOCATION = "s3://lake/sales data/orders=2024"
REGIONS = ["Île-de-France", "a b+c=d%2F", "Bayern"]
CATALOG = f"""
shares:
  - name: sales
    schemas:
      - name: default
        tables:
          - name: orders
            location: {LOCATION}
            historyShared: true
recipients:
  - name: tests
    shares: [sales]
    tokens:
      - sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}
"""


def environment(server: S3Server) -> dict[str, str]:
    """This process's environment, where AWS's default chain and StorageOptions find the server."""
    credentials = server.credentials
    token = credentials.session_token
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **kept,
        "AWS_ACCESS_KEY_ID": credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
        "AWS_REGION": server.region,
        "AWS_ENDPOINT_URL": server.endpoint_url,
        **({} if token is None else {"AWS_SESSION_TOKEN": token}),
    }


def orders(day: int) -> pa.Table:
    count = 30
    return pa.table(
        {
            "day": pa.array([day] * count, pa.int32()),
            "region": [REGIONS[i % 3] for i in range(count)],
            "order_id": pa.array(range(day * 100, day * 100 + count), pa.int64()),
            "price": [day + i / 7 for i in range(count)],
        }
    )


def written_table(server: S3Server) -> deltalake.DeltaTable:
    """Four versions; the last deletes a part of what day 1 holds."""
    credentials = server.credentials
    storage = {
        "AWS_ACCESS_KEY_ID": credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
        "AWS_REGION": server.region,
        "AWS_ENDPOINT_URL": server.endpoint_url,
        "AWS_ALLOW_HTTP": "true",
    }
    for day in (1, 2, 3):
        deltalake.write_deltalake(
            LOCATION,
            orders(day),
            mode="append",
            partition_by=["region"],
            storage_options=storage,
        )
    table = deltalake.DeltaTable(LOCATION, storage_options=storage)
    table.delete("order_id < 110")
    return table


@dataclass(frozen=True)
class Lake:
    """The indexed table's S3, the catalog, and what the table holds at each version."""

    server: S3Server
    catalog: Path
    rows: list[pd.DataFrame]


@pytest.fixture(scope="module")
def lake(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    for bucket in ("lake", "manifests"):
        s3_server.new_bucket(bucket)
    table = written_table(s3_server)
    rows = []
    for version in range(table.version() + 1):
        table.load_as_version(version)
        rows.append(ordered(table.to_pandas()))
    folder = tmp_path_factory.mktemp("catalog")
    (folder / "catalog.yaml").write_text(CATALOG)
    indexed = run_index(folder / "catalog.yaml", s3_server.temporary())
    assert indexed.returncode == 0, indexed.stderr[-4000:]
    return Lake(s3_server, folder / "catalog.yaml", rows)


def run_index(catalog: Path, server: S3Server) -> "subprocess.CompletedProcess[str]":
    command = "from headgate.cli.main import app; app()"
    return subprocess.run(
        [sys.executable, "-c", command, "index", "--catalog", str(catalog), "--index", INDEX],
        env=environment(server),
        cwd=catalog.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@contextlib.contextmanager
def serving(
    lake: Lake, server: S3Server, *, index_url: str = INDEX, url_ttl_s: int = 600, **extra: str
) -> Iterator[str]:
    """Runs Headgate with the credentials of `server` in its environment; gives its endpoint."""
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(environment(server)):
            patch.delenv(name)
        for name, value in {**environment(server), **extra}.items():
            patch.setenv(name, value)
        settings = Settings(catalog=str(lake.catalog), index_url=index_url, url_ttl_s=url_ttl_s)
        port = free_port()
        app = local_app(settings, f"http://127.0.0.1:{port}", fail)
        with asgi_server(app, port) as url:
            yield f"{url}{settings.prefix}"


def fail(error: Exception) -> None:
    raise error


def load(endpoint: str, folder: Path, **arguments: Any) -> pd.DataFrame:
    """The table as the official client reads it."""
    profile = folder / "profile.share"
    profile.write_text(
        json.dumps({"shareCredentialsVersion": 1, "endpoint": endpoint, "bearerToken": TOKEN})
    )
    with contextlib.redirect_stdout(io.StringIO()):
        return ordered(delta_sharing.load_as_pandas(f"{profile}#sales.default.orders", **arguments))


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values("order_id", ignore_index=True)


def query(endpoint: str, **body: Any) -> tuple[list[str], httpx.Response]:
    """The URLs of a query's files, in the parquet format, and the response."""
    response = httpx.post(
        f"{endpoint}/shares/sales/schemas/default/tables/orders/query",
        headers={"Authorization": f"Bearer {TOKEN}"},
        json=body,
    )
    assert response.status_code == 200, response.text
    lines = [json.loads(line) for line in response.text.splitlines()]
    return [line["file"]["url"] for line in lines if "file" in line], response


def refusal(url: str) -> tuple[int, str]:
    response = httpx.get(url)
    return response.status_code, response.text


@pytest.mark.parametrize("credentials", ["lasting", "temporary"])
@pytest.mark.parametrize("delta", [False, True], ids=["parquet", "delta"])
def test_the_client_reads_every_version(
    lake: Lake, tmp_path: Path, credentials: str, delta: bool
) -> None:
    server = lake.server if credentials == "lasting" else lake.server.temporary()
    with serving(lake, server) as endpoint:
        for version, expected in enumerate(lake.rows):
            read = load(endpoint, tmp_path, version=version, use_delta_format=delta)
            pd.testing.assert_frame_equal(read[expected.columns], expected, check_dtype=False)
        latest = load(endpoint, tmp_path, use_delta_format=delta)
        pd.testing.assert_frame_equal(
            latest[lake.rows[-1].columns], lake.rows[-1], check_dtype=False
        )


@pytest.mark.parametrize("delta", [False, True], ids=["parquet", "delta"])
def test_predicates_leave_files_out_and_no_row(lake: Lake, tmp_path: Path, delta: bool) -> None:
    def column(name: str, kind: str) -> dict[str, Any]:
        return {"op": "column", "name": name, "valueType": kind}

    def literal(value: str, kind: str) -> dict[str, Any]:
        return {"op": "literal", "value": value, "valueType": kind}

    hint = {
        "op": "and",
        "children": [
            {
                "op": "equal",
                "children": [column("region", "string"), literal(REGIONS[1], "string")],
            },
            {"op": "greaterThan", "children": [column("order_id", "long"), literal("250", "long")]},
        ],
    }
    with serving(lake, lake.server) as endpoint:
        _, whole = query(endpoint)
        urls, pruned = query(endpoint, jsonPredicateHints=json.dumps(hint))
        assert len(urls) == 1
        assert int(pruned.headers["Headgate-Files-Considered"]) == 9
        assert int(whole.headers["Headgate-Files-Kept"]) == 9
        by_sql, _ = query(endpoint, predicateHints=[f"region = '{REGIONS[1]}'", "order_id > 250"])
        assert [urlsplit(url).path for url in by_sql] == [urlsplit(url).path for url in urls]

        read = load(endpoint, tmp_path, jsonPredicateHints=json.dumps(hint), use_delta_format=delta)
    expected = lake.rows[-1]
    matching = expected[(expected.region == REGIONS[1]) & (expected.order_id > 250)]
    assert set(matching.order_id) <= set(read.order_id)
    assert set(read.order_id) < set(expected.order_id)


@pytest.mark.parametrize("credentials", ["lasting", "temporary"])
def test_storage_refuses_what_was_not_signed(lake: Lake, credentials: str) -> None:
    server = lake.server if credentials == "lasting" else lake.server.temporary()
    with serving(lake, server) as endpoint:
        urls, _ = query(endpoint)
    for url in urls:
        assert ("X-Amz-Security-Token=" in url) == (credentials == "temporary")
        part = httpx.get(url, headers={"Range": "bytes=0-3"})
        assert (part.status_code, part.content) == (206, b"PAR1")

    ours, another = urls[:2]
    path, other_path = urlsplit(ours).path, urlsplit(another).path
    forged = [
        ours.replace(path, other_path),
        ours.replace("X-Amz-Expires=600", "X-Amz-Expires=6000"),
        ours[:-1] + ("0" if ours[-1] != "0" else "1"),
    ]
    for url in forged:
        assert url != ours
        status, text = refusal(url)
        assert status == 403
        assert "SignatureDoesNotMatch" in text
    assert refusal(ours.partition("?")[0])[0] == 403


def test_storage_refuses_what_has_expired(lake: Lake) -> None:
    with serving(lake, lake.server, url_ttl_s=1) as endpoint:
        urls, _ = query(endpoint)
    time.sleep(2.1)
    status, text = refusal(urls[0])
    assert status == 403
    assert "expired" in text


def test_credentials_that_storage_does_not_know_are_refused(lake: Lake) -> None:
    known = lake.server.credentials
    wrong = S3Server(
        lake.server.endpoint_url,
        lake.server.region,
        Credentials(known.access_key_id, "not its secret"),
    )
    indexed = run_index(lake.catalog, wrong)
    assert indexed.returncode != 0
    assert "not its secret" not in indexed.stdout + indexed.stderr


def test_urls_in_virtual_host_style(lake: Lake, tmp_path: Path) -> None:
    """The names of buckets are no hosts here, so the manifests are copied to a folder, and
    requests go to the address of the server, with the host that was signed.
    """
    manifests = open_store(INDEX, lake.server.options)
    folder = open_store(str(tmp_path), lake.server.options)
    for info in manifests.list():
        folder.put(info.key, manifests.get(info.key))
    port = urlsplit(lake.server.endpoint_url).port
    by_name = {"AWS_ENDPOINT_URL": f"http://localhost:{port}", "HEADGATE_S3_PATH_STYLE": "false"}
    with serving(lake, lake.server, index_url=str(tmp_path), **by_name) as endpoint:
        urls, _ = query(endpoint)
    assert len(urls) == 9
    for url in urls:
        host = f"lake.localhost:{port}"
        assert urlsplit(url).netloc == host
        here = url.replace(host, f"127.0.0.1:{port}")
        answer = httpx.get(here, headers={"Host": host})
        assert (answer.status_code, answer.content[:4]) == (200, b"PAR1")
        other_host = httpx.get(here, headers={"Host": f"manifests.localhost:{port}"})
        assert other_host.status_code == 403
