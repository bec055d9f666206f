"""Every golden table, through the pipeline and a running server, as the official client reads it.

What is known of the tables is in INDEX.md, OBSERVED.json, `expected/` and `_expected/` of the
golden folder. The differences that remain are listed here, each with its cause.
"""

import contextlib
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import delta_kernel_rust_sharing_wrapper as kernel
import delta_sharing
import httpx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.golden.conftest import TOKEN, GoldenServer, GoldenTable, golden_tables

# What the client's kernel cannot read, even from the table itself.
NOT_IN_DELTA_FORMAT = {
    "kernel-data/void-column": "its kernel knows no void type",
    "trino/databricks154/test_variant_null": "its kernel refuses nulls in a non-nullable variant",
    "trino/trino410/no_stats_various_types": "its kernel refuses INT32 Parquet for a byte column",
}
# What the client's Parquet reader cannot read, by what the schema holds.
NOT_IN_PARQUET_FORMAT = ("timestamp_ntz", "variant", "void")
# The client fails where files are listed and none of them has a row ("Must pass schema").
ONLY_EMPTY_FILES = {("dask/empty1/empty", None), ("dask/empty1/empty", 4)}
# Values that differ by the client's doing.
PARQUET_VALUES_DIFFER: dict[str, str] = {}
# Tables whose files are not all listed, or not at all.
NOT_ALL_LISTED = {
    "kernel-golden/canonicalized-paths-normal-b/delta": "0 files is right (INDEX.md, note 5)",
    "kernel-golden/canonicalized-paths-special-a/delta": "0 files is right (INDEX.md, note 5)",
    "kernel-golden/canonicalized-paths-special-b/delta": "0 files is right (INDEX.md, note 5)",
    "trino/deltalake/clone_merge/clone_merge_deletion_vector_cloned": "its files are in S3, and "
    "the table is not: no URL can be signed",
}


def tables(golden: Path, *statuses: str) -> list[GoldenTable]:
    return [table for table in golden_tables(golden) if table.status in statuses]


def load(
    server: GoldenServer, table: GoldenTable, version: int | None, delta: bool
) -> pd.DataFrame:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the client's own, of pandas' coming versions
        return delta_sharing.load_as_pandas(
            server.url(table), version=version, use_delta_format=delta
        )


def observed_rows(table: GoldenTable) -> Iterator[tuple[int | None, int]]:
    """(version, rows) as recorded; version None is the latest."""
    latest = table.observed.get("latest", {})
    rows = latest.get("rows")
    rows = latest.get("rows_client_kernel") if rows is None else rows
    if rows is not None:
        yield None, rows
    for version, seen in table.observed.get("versions", {}).items():
        if seen.get("rows") is not None:
            yield int(version), seen["rows"]


def can_load(table: GoldenTable, version: int | None, delta: bool) -> bool:
    if delta:
        return (
            table.path not in NOT_IN_DELTA_FORMAT and (table.path, version) not in ONLY_EMPTY_FILES
        )
    return True


def test_every_observed_version_has_the_observed_rows(
    golden: Path, golden_server: GoldenServer
) -> None:
    """In delta format all of them; in parquet format those that it can carry."""
    wrong = []
    counted = {True: 0, False: 0}
    for table in tables(golden, "R", "K"):
        for version, rows in observed_rows(table):
            for delta in (True, False):
                if not can_load(table, version, delta):
                    continue
                try:
                    found: Any = len(load(golden_server, table, version, delta))
                except Exception as error:
                    if not delta and parquet_cannot_carry(error):
                        continue
                    found = repr(error)[:200]
                counted[delta] += 1
                if found != rows:
                    wrong.append(
                        (table.path, version, "delta" if delta else "parquet", rows, found)
                    )
    assert wrong == []
    assert counted[True] >= 800
    assert counted[False] >= 600


def parquet_cannot_carry(error: Exception) -> bool:
    """Whether the server, or the client's own reader, says that the format cannot carry it."""
    text = str(error)
    return "Unsupported Delta Table Properties" in text or any(
        f"Could not parse datatype: {name}" in text for name in NOT_IN_PARQUET_FORMAT
    )


def test_delta_format_equals_the_kernel_on_the_table_itself(
    golden: Path, golden_server: GoldenServer
) -> None:
    """The client's kernel reads the same rows, values and types through us as from the folder."""
    wrong = []
    compared = 0
    for table in tables(golden, "R", "K"):
        if not can_load(table, None, delta=True):
            continue
        location = f"file://{golden / table.path}"
        try:
            interface = kernel.PythonInterface(location)
            snapshot = kernel.Table(location).snapshot(interface)
            scanned = kernel.ScanBuilder(snapshot).build().execute(interface)
            expected = pa.Table.from_batches(scanned, scanned.schema).to_pandas()
        except Exception:
            continue  # the kernel cannot read the table; through us it may
        found = load(golden_server, table, None, delta=True)
        compared += 1
        if canonical_rows(found) != canonical_rows(expected):
            wrong.append(table.path)
    assert wrong == []
    assert compared >= 200


def canonical_rows(frame: pd.DataFrame) -> list[str]:
    """Rows as text, by column name, in no order."""
    names = sorted(frame.columns)
    return sorted(
        repr([canonical(value) for value in row]) for row in frame[names].itertuples(index=False)
    )


def canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return [(name, canonical(value[name])) for name in sorted(value, key=str)]
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    return None if value is None or value is pd.NaT or value != value else value


def test_expected_parquet(golden: Path, golden_server: GoldenServer) -> None:
    """What Spark read of the tables that have an `expected/` folder, at each version it has."""
    wrong = []
    compared = 0
    for table in tables(golden, "R", "K"):
        expected = (golden / table.path).parent / "expected"
        if not table.path.endswith("/delta") or not expected.is_dir():
            continue
        if table.path in NOT_IN_DELTA_FORMAT:
            continue
        for folder, version in expected_folders(expected):
            want = pq.read_table(folder, partitioning=None).to_pandas()
            found = load(golden_server, table, version, delta=True)
            if table.path == "kernel-golden/data-reader-partition-values/delta":
                # seven hours off upstream (INDEX.md, note 4)
                want, found = (frame.drop(columns="as_timestamp") for frame in (want, found))
            compared += 1
            if canonical_rows(utc(want)) != canonical_rows(utc(found)):
                wrong.append((table.path, version))
    assert wrong == []
    assert compared >= 60


def expected_folders(expected: Path) -> Iterator[tuple[Path, int | None]]:
    if any(expected.glob("*.parquet")):
        yield expected, None
    for folder in sorted(expected.iterdir()):
        content = folder / "table_content"
        if content.is_dir() and any(content.rglob("*.parquet")):
            name = folder.name
            yield content, None if name == "latest" else int(name.removeprefix("v"))


def utc(frame: pd.DataFrame) -> pd.DataFrame:
    """Timestamps as naive UTC of one unit: Parquet and the kernel differ in both."""
    frame = frame.copy()
    for name, dtype in frame.dtypes.items():
        if isinstance(dtype, pd.DatetimeTZDtype):
            frame[name] = frame[name].dt.tz_convert("UTC").dt.tz_localize(None)
        if pd.api.types.is_datetime64_any_dtype(frame[name].dtype):
            frame[name] = frame[name].astype("datetime64[us]")
    return frame


def test_expected_json(golden: Path, golden_server: GoldenServer) -> None:
    """What upstream's tests say of snapshots: rows as text."""
    wrong = []
    compared = 0
    known = {table.path: table for table in golden_tables(golden)}
    for file in sorted((golden / "_expected").rglob("*.json")):
        case = json.loads(file.read_text())
        if case["kind"] != "scan" or case["table"] not in known or case["columns"] == ["path"]:
            continue
        table = known[case["table"]]
        if table.path == "delta-golden/type-widening-nested":
            continue  # the client's kernel cannot widen inside lists
        found = load(golden_server, table, case["args"].get("version"), delta=True)
        compared += 1
        if not case["columns"]:
            if len(found) != case["row_count"]:
                wrong.append((file.name, table.path, len(found)))
            continue
        want = sorted(tuple(cell_text(cell) for cell in row) for row in case["rows"])
        got = sorted(
            tuple(cell_text(cell) for cell in row)
            for row in found[case["columns"]].itertuples(index=False)
        )
        if got != want:
            wrong.append((file.name, table.path, got[:2], want[:2]))
    assert wrong == []
    assert compared >= 15


def cell_text(cell: Any) -> str:
    """Arrow's pretty printing, near enough for the types in the files."""
    if cell is None or cell is pd.NaT or cell != cell:
        return ""
    if isinstance(cell, str) and cell.endswith("Z"):
        with contextlib.suppress(ValueError):
            cell = pd.Timestamp(cell)
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat()
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def query(server: GoldenServer, table: GoldenTable, **body: Any) -> httpx.Response:
    return httpx.post(
        f"{server.endpoint}/shares/golden/schemas/default/tables/{table.name}/query",
        json=body,
        headers={
            "Authorization": f"Bearer {TOKEN}",
            "delta-sharing-capabilities": "responseformat=delta;"
            "readerfeatures=deletionvectors,columnmapping",
        },
    )


def test_files_are_listed_at_every_observed_version(
    golden: Path, golden_server: GoldenServer
) -> None:
    """Also where the data files do not exist (status M), and where no reader returns rows (X)."""
    wrong = []
    compared = 0
    for table in tables(golden, "R", "K", "M", "X"):
        for version, seen in table.observed.get("versions", {}).items():
            files = seen.get("files")
            if files is None or table.path in NOT_ALL_LISTED:
                continue
            response = query(golden_server, table, version=int(version))
            compared += 1
            if response.status_code != 200 or len(response.text.splitlines()) - 2 != files:
                wrong.append((table.path, version, files, response.status_code))
    assert wrong == []
    assert compared >= 800


@pytest.mark.parametrize("kind", ["normal-b", "special-a", "special-b"])
def test_two_spellings_of_a_path_are_one_file(
    kind: str, golden: Path, golden_server: GoldenServer
) -> None:
    path = f"kernel-golden/canonicalized-paths-{kind}/delta"
    [table] = [table for table in golden_tables(golden) if table.path == path]
    assert len(query(golden_server, table).text.splitlines()) == 2  # protocol and metaData


def test_tables_that_cannot_be_served_say_why(golden: Path, golden_server: GoldenServer) -> None:
    """Status N: an error that names the table, the version and the cause; never a 500."""
    refused = tables(golden, "N")
    assert len(refused) >= 15
    for table in refused:
        response = query(golden_server, table)
        assert response.status_code == 400, table.path
        error = response.json()
        assert error["errorCode"] == "UNSUPPORTED_OPERATION"
        assert f"golden.default.{table.name}" in error["message"]
        assert "version" in error["message"] or "no commit" in error["message"]
        assert str(golden) not in response.text


def test_no_table_crashes_the_server(golden: Path, golden_server: GoldenServer) -> None:
    for table in golden_tables(golden):
        assert query(golden_server, table).status_code in (200, 400), table.path
