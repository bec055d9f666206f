"""The table APIs over HTTP: lines of both formats, negotiation, errors, odd bodies.

One server over three real tables: plain and partitioned with history, one with deletion vectors and
column mapping (the demo's), one that is not indexed, one that is refused.
"""

import gzip
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.catalog.loader import load_catalog
from headgate.cli.demo_tables import build_tables
from headgate.indexer.pipeline import index_tables
from headgate.indexer.session import spark_session
from headgate.local.server import bind_socket, local_app, make_server, origin_of
from headgate.settings import Settings
from headgate.storage.options import StorageOptions

TOKEN = "a-token-for-the-api-tests"
DELTA = "responseformat=delta;readerfeatures=deletionvectors,columnmapping"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("api")
    lake = folder / "lake"
    tables = list(build_tables(lake))
    (lake / "broken" / "_delta_log").mkdir(parents=True)
    (lake / "broken" / "_delta_log" / f"{0:020}.json").write_text("{not json")
    entries = [
        {"name": table.name, "location": str(table.folder), "historyShared": True}
        for table in tables
    ]
    entries += [
        {"name": "alone", "location": str(lake / "sales")},
        {
            "name": "since3",
            "location": str(lake / "sales"),
            "historyShared": True,
            "startVersion": 3,
        },
        {"name": "broken", "location": str(lake / "broken")},
    ]
    catalog = folder / "catalog.yaml"

    def write(tables: list[dict[str, Any]]) -> None:
        hashed = hashlib.sha256(TOKEN.encode()).hexdigest()
        document = {
            "shares": [{"name": "s", "schemas": [{"name": "d", "tables": tables}]}],
            "recipients": [{"name": "r", "shares": ["s"], "tokens": [{"sha256": hashed}]}],
        }
        catalog.write_text(yaml.safe_dump(document))

    write(entries)
    index_tables(
        lambda: spark_session("local[2]"),
        load_catalog(catalog).tables_by_location(),
        str(folder / "index"),
        StorageOptions(),
    )
    write([*entries, {"name": "new", "location": str(lake / "nowhere")}])
    listener = bind_socket("127.0.0.1", 0)
    origin = origin_of(listener)
    app = local_app(Settings(catalog=str(catalog), index_url=str(folder / "index")), origin, print)
    running = make_server(app)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    while not running.started:
        time.sleep(0.01)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=f"{origin}/delta-sharing", headers=headers, timeout=20) as client:
        yield client
    running.should_exit = True
    thread.join()


def url(table: str, action: str = "query") -> str:
    return f"/shares/s/schemas/d/tables/{table}/{action}"


def query(
    server: httpx.Client, table: str, capabilities: str | None = None, **body: Any
) -> httpx.Response:
    headers = {} if capabilities is None else {"delta-sharing-capabilities": capabilities}
    return server.post(url(table), json=body, headers=headers)


def lines(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    assert response.content.isascii()
    return [json.loads(line) for line in response.text.splitlines()]


def test_parquet_lines_are_the_protocols(server: httpx.Client) -> None:
    response = query(server, "SALES")  # names ignore case
    protocol, metadata, *found = lines(response)
    assert response.headers["delta-table-version"] == "7"
    assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert response.headers["delta-sharing-capabilities"] == "responseformat=parquet"
    assert protocol == {"protocol": {"minReaderVersion": 1}}
    described = metadata["metaData"]
    assert described["partitionColumns"] == ["date"]
    assert described["format"] == {"provider": "parquet"}
    assert described["configuration"] == {}
    assert described["numFiles"] == len(found) == 5
    assert described["size"] == sum(line["file"]["size"] for line in found)
    assert "version" not in described
    for line in found:
        file = line["file"]
        assert set(file) == {
            "url",
            "id",
            "partitionValues",
            "size",
            "stats",
            "expirationTimestamp",
        }
        path = file["url"].split("?")[0].split("/storage/")[1].split("/", 1)[1]
        assert file["id"] == hashlib.md5(path.replace("%3D", "=").encode()).hexdigest()
        assert set(file["partitionValues"]) == {"date"}
        assert json.loads(file["stats"])["numRecords"] > 0
        assert 3500 < file["expirationTimestamp"] / 1000 - time.time() <= 3600
        assert httpx.get(file["url"]).content[:4] == b"PAR1"


def test_delta_lines_are_the_protocols(server: httpx.Client) -> None:
    response = query(server, "visits", DELTA)
    protocol, metadata, *found = lines(response)
    assert response.headers["delta-sharing-capabilities"] == "responseformat=delta"
    features = protocol["protocol"]["deltaProtocol"]["readerFeatures"]
    assert set(features) == {"columnMapping", "deletionVectors"}
    inside = metadata["metaData"]["deltaMetadata"]
    assert inside["configuration"]["delta.columnMapping.mode"] == "name"
    assert metadata["metaData"]["numFiles"] == len(found)
    vectors = 0
    for line in found:
        file = line["file"]
        add = file["deltaSingleAction"]["add"]
        assert add["dataChange"] is True
        assert add["modificationTime"] > 0
        assert len(file["id"]) == 64
        assert next(iter(add["partitionValues"])).startswith("col-")
        if "deletionVector" in add:
            vectors += 1
            vector = add["deletionVector"]
            assert vector["storageType"] == "p"
            assert set(vector) >= {"offset", "sizeInBytes", "cardinality"}
            assert len(file["deletionVectorFileId"]) == 64
            body = httpx.get(vector["pathOrInlineDv"]).content
            assert len(body) > vector["sizeInBytes"]
    assert vectors > 0


def test_time_travel_stamps_metadata_and_files(server: httpx.Client) -> None:
    _, metadata, *found = lines(query(server, "sales", version=2))
    assert metadata["metaData"]["version"] == 2
    assert metadata["metaData"]["numFiles"] == len(found) == 3
    assert {line["file"]["version"] for line in found} == {2}
    stamp = found[0]["file"]["timestamp"]
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(stamp // 1000)) + f".{stamp % 1000:03}Z"
    response = query(server, "sales", timestamp=at)
    assert response.headers["delta-table-version"] == "2"
    assert [line["file"]["id"] for line in lines(response)[2:]] == [f["file"]["id"] for f in found]
    version = server.get(url("sales", "version"), params={"startingTimestamp": at})
    assert version.headers["delta-table-version"] == "2"


@pytest.mark.parametrize(
    ("table", "capabilities", "chosen"),
    [
        ("sales", None, "parquet"),
        ("sales", "responseformat=parquet", "parquet"),
        ("sales", "ResponseFormat=Delta", "delta"),
        ("sales", "responseformat=delta,parquet;readerfeatures=deletionvectors", "parquet"),
        ("sales", "responseformat=avro", "parquet"),
        ("visits", f"{DELTA},timestampntz", "delta"),
        ("visits", DELTA.replace("=delta", "=parquet,delta"), "delta"),
        ("visits", None, None),
        ("visits", "responseformat=parquet", None),
        ("visits", "responseformat=delta", None),
        ("visits", "responseformat=delta;readerfeatures=columnmapping", None),
    ],
)
@pytest.mark.parametrize("action", ["query", "metadata"])
def test_the_format_is_negotiated(
    server: httpx.Client, table: str, capabilities: str | None, chosen: str | None, action: str
) -> None:
    headers = {} if capabilities is None else {"delta-sharing-capabilities": capabilities}
    if action == "query":
        response = server.post(url(table), json={}, headers=headers)
    else:
        response = server.get(url(table, "metadata"), headers=headers)
    if chosen is None:
        assert response.status_code == 400
        assert "Unsupported Delta Table Properties" in response.json()["message"]
        assert "readerfeatures=" in response.json()["message"]
    else:
        assert response.headers["delta-sharing-capabilities"] == f"responseformat={chosen}"
        assert len(lines(response)) >= 2
        if action == "metadata":
            assert lines(response) == lines(query(server, table, capabilities))[:2]


def test_hints_prune_and_say_so(server: httpx.Client) -> None:
    response = query(server, "trips", predicateHints=["trip_id < 400", "distance_km + 1 > 2"])
    assert response.headers["headgate-files-considered"] == "60"
    assert response.headers["headgate-files-kept"] == "2" == str(len(lines(response)) - 2)
    assert response.headers["headgate-hints-unused"]
    limited = query(server, "trips", predicateHints=["trip_id >= 400"], limitHint=201)
    assert len(lines(limited)) - 2 == 2  # files of 200 rows each
    assert "headgate-hints-unused" not in limited.headers
    assert len(lines(query(server, "trips", limitHint=0))) - 2 == 0


def test_gzip_holds_the_same_lines(server: httpx.Client) -> None:
    plain = server.post(url("trips"), json={}, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    with server.stream(
        "POST", url("trips"), json={}, headers={"Accept-Encoding": "gzip"}
    ) as response:
        assert response.headers["content-encoding"] == "gzip"
        packed = b"".join(response.iter_raw())
    assert len(packed) < len(plain.content)

    def ids(body: bytes) -> list[str]:
        return [json.loads(line)["file"]["id"] for line in body.splitlines()[2:]]

    assert ids(gzip.decompress(packed)) == ids(plain.content)


def test_file_ids_are_of_the_kind_asked_for(server: httpx.Client) -> None:
    for kind, length in (("Delta", 64), ("parquet", 32)):
        response = server.post(url("sales"), json={}, headers={"fileidhash": kind})
        assert response.headers["fileidhash"] == kind.lower()
        assert {len(line["file"]["id"]) for line in lines(response)[2:]} == {length}
    refused = server.post(url("sales"), json={}, headers={"fileidhash": "sha1"})
    assert refused.status_code == 400
    assert "Unsupported fileidhash: 'sha1'" in refused.json()["message"]


NOT_SHARED = "history sharing is not enabled on table: s.d.alone"


@pytest.mark.parametrize(
    ("table", "body", "status", "message"),
    [
        ("alone", {"version": 1}, 400, NOT_SHARED),
        ("alone", {"timestamp": "abc"}, 400, NOT_SHARED),
        ("sales", {"version": 1, "timestamp": "abc"}, 400, "Please only provide one of"),
        ("sales", {"version": 1, "startingVersion": 1}, 400, "Please only provide one of"),
        ("sales", {"version": -2}, 400, "table version cannot be negative"),
        ("sales", {"version": "x3"}, 400, "Not a numeric value: x3"),
        ("sales", {"version": 99}, 400, "Cannot load table version 99"),
        ("sales", {"timestamp": "2000-01-01T00:00:00-08:00"}, 400, "before the earliest"),
        ("sales", {"timestamp": "9999-01-01T00:00:00-08:00"}, 400, "after the latest"),
        ("sales", {"timestamp": "2022-01-01"}, 400, "Invalid startingTimestamp"),
        ("since3", {"version": 2}, 400, "You can only query table data since version 3"),
        ("sales", {"predicateHints": {}}, 400, "Expected an array for repeated field"),
        ("sales", {"limitHint": 3_000_000_000}, 400, "Not an int32 value"),
        ("sales", {"limitHint": -1}, 400, "limitHint cannot be negative"),
        ("sales", {"startingVersion": 0}, 400, "startingVersion"),
        ("nothing", {}, 404, "[Share/Schema/Table] 's/d/nothing' does not exist"),
        ("new", {}, 503, "Table 's.d.new' is not indexed yet"),
        ("broken", {}, 400, "Table 's.d.broken' cannot be shared"),
    ],
)
def test_errors_name_their_cause(
    server: httpx.Client, table: str, body: dict[str, Any], status: int, message: str
) -> None:
    response = query(server, table, **body)
    assert response.status_code == status
    assert message in response.json()["message"]
    assert "/lake/" not in response.text
    assert TOKEN not in response.text


@pytest.mark.parametrize(
    ("action", "params", "message"),
    [
        ("version", {"startingTimestamp": "abc"}, "Invalid startingTimestamp"),
        ("version", {"startingTimestamp": "9999-01-01T00:00:00Z"}, "after the latest version"),
        ("metadata", {"version": 4, "timestamp": "abc"}, "Please only provide one of"),
        ("metadata", {"version": -1}, "version cannot be negative"),
        ("metadata", {"version": 44}, "Cannot load table version 44"),
        ("metadata", {"timestamp": "2021-01-01"}, "Invalid startingTimestamp"),
        ("metadata", {"timestamp": "2021-01-01T00:00:00Z"}, "before the earliest available"),
        ("metadata", {"version": "x"}, "expected a number"),
    ],
)
def test_parameters_are_checked(
    server: httpx.Client, action: str, params: dict[str, Any], message: str
) -> None:
    response = server.get(url("sales", action), params=params)
    assert response.status_code == 400
    assert message in response.json()["message"]


def test_the_deprecated_head_tells_the_version(server: httpx.Client) -> None:
    response = server.head("/shares/s/schemas/d/tables/sales")
    assert (response.status_code, response.headers["delta-table-version"]) == (200, "7")
    refused = server.head(
        "/shares/s/schemas/d/tables/alone", params={"startingTimestamp": "2022-01-01T00:00:00Z"}
    )
    assert (refused.status_code, refused.content) == (400, b"")
    assert server.get(url("sales", "version")).headers["delta-table-version"] == "7"


@pytest.mark.parametrize("body", [b"", b"   ", b"[]", b"{", b"\xff", b"null", b'"x"', b"{}x"])
def test_bodies_that_are_no_object_are_malformed(server: httpx.Client, body: bytes) -> None:
    response = server.post(url("sales"), content=body)
    assert response.status_code == 400
    assert response.json()["errorCode"] == "MALFORMED_REQUEST"


def test_unknown_fields_are_ignored(server: httpx.Client) -> None:
    assert len(lines(query(server, "sales", surprise=[1], maxFiles=2))) >= 2


FIELDS = ["predicateHints", "jsonPredicateHints", "limitHint", "version", "timestamp"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4))
def test_no_body_crashes_the_server(server: httpx.Client, body: dict[str, Any]) -> None:
    response = server.post(url("sales"), content=json.dumps(body).encode())
    assert response.status_code in (200, 400), (body, response.text)


def test_the_demo_table_is_what_deltalake_cannot_write() -> None:
    """The ready-made table is whole: its log and every file that it names."""
    folder = Path(str(files("headgate.cli").joinpath("demo_data", "visits")))
    table = DeltaTable(folder)
    assert set(table.protocol().reader_features or ()) >= {"columnMapping", "deletionVectors"}
    assert all(Path(uri.removeprefix("file://")).exists() for uri in table.file_uris())
