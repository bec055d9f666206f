"""Every golden table, through the pipeline and a running server, as the official client reads it.

What is known of the tables is in INDEX.md, OBSERVED.json, `expected/` and `_expected/` of the
golden folder. The differences that remain are listed here, each with its cause.
"""

import contextlib
import io
import json
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
NOT_IN_PARQUET_FORMAT = ("timestamp_ntz", "variant")
# The client fails where files are listed and none of them has a row ("Must pass schema").
ONLY_EMPTY_FILES = {("dask/empty1/empty", None), ("dask/empty1/empty", 4)}
# Values that differ by the client's doing.
PARQUET_VALUES_DIFFER: dict[str, str] = {}


def tables(golden: Path, *statuses: str) -> list[GoldenTable]:
    return [table for table in golden_tables(golden) if table.status in statuses]


def load(server: GoldenServer, table: GoldenTable, version: int | None, delta: bool) -> pd.DataFrame:
    with contextlib.redirect_stdout(io.StringIO()):
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
