"""Delta logs in a folder, written action by action."""

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.storage.base import ObjectStore
from headgate.storage.local import LocalObjectStore

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
    }
)
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
METADATA = {
    "metaData": {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": SCHEMA,
        "partitionColumns": [],
        "configuration": {},
    }
}


def store_at(folder: Path) -> ObjectStore:
    return LocalObjectStore(folder)


class Log:
    """A table's folder with a `_delta_log`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "_delta_log"
        self.folder.mkdir(parents=True)

    @property
    def store(self) -> ObjectStore:
        return store_at(self.root)

    def write(self, name: str, body: bytes | str) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(body.encode() if isinstance(body, str) else body)
        return path

    def commit(self, version: int, *actions: Mapping[str, Any]) -> Path:
        return self.write(f"{version:020}.json", lines(actions))

    def create(self, *actions: Mapping[str, Any]) -> None:
        self.commit(0, PROTOCOL, METADATA, *actions)


def lines(actions: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(action) + "\n" for action in actions)


def add(path: str, **fields: Any) -> dict[str, Any]:
    base = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1}
    return {"add": {**base, "dataChange": True, **fields}}


def remove(path: str, **fields: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, **fields}}


LOG_COLUMNS = pa.schema(
    [
        (
            "add",
            pa.struct(
                [
                    ("path", pa.string()),
                    ("partitionValues", pa.map_(pa.string(), pa.string())),
                    ("size", pa.int64()),
                    ("modificationTime", pa.int64()),
                    ("dataChange", pa.bool_()),
                    ("stats", pa.string()),
                    (
                        "deletionVector",
                        pa.struct(
                            [
                                ("storageType", pa.string()),
                                ("pathOrInlineDv", pa.string()),
                                ("offset", pa.int32()),
                                ("sizeInBytes", pa.int32()),
                                ("cardinality", pa.int64()),
                                ("maxRowIndex", pa.int64()),
                            ]
                        ),
                    ),
                ]
            ),
        ),
        ("remove", pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64())])),
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    (
                        "format",
                        pa.struct(
                            [
                                ("provider", pa.string()),
                                ("options", pa.map_(pa.string(), pa.string())),
                            ]
                        ),
                    ),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", pa.map_(pa.string(), pa.string())),
                ]
            ),
        ),
        ("sidecar", pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64())])),
    ]
)


def parquet(
    actions: Iterable[Mapping[str, Any]],
    schema: pa.Schema = LOG_COLUMNS,
    row_group_size: int = 1000,
) -> bytes:
    """A checkpoint's Parquet file."""
    table = pa.Table.from_pylist([_maps(action) for action in actions], schema)
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=row_group_size)
    return sink.getvalue()


def _maps(value: Any, name: str = "") -> Any:
    if not isinstance(value, dict):
        return value
    if name in ("partitionValues", "options", "configuration"):
        return list(value.items())
    return {key: _maps(child, key) for key, child in value.items()}
