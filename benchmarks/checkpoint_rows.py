"""Rows of a classic checkpoint, in the schema that Spark writes it with.

Source: Delta protocol, "Checkpoint Schema".
"""

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.order_files import FileRows

_STRINGS = pa.map_(pa.string(), pa.string())
_DELETION_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
        ("maxRowIndex", pa.int64()),
    ]
)
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("tags", _STRINGS),
        ("deletionVector", _DELETION_VECTOR),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
        ("clusteringProvider", pa.string()),
        ("stats", pa.string()),
    ]
)
_REMOVE = pa.struct(
    [
        ("path", pa.string()),
        ("deletionTimestamp", pa.int64()),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("deletionVector", _DELETION_VECTOR),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
    ]
)
_METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _STRINGS),
        ("createdTime", pa.int64()),
    ]
)
_PROTOCOL = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", pa.list_(pa.string())),
        ("writerFeatures", pa.list_(pa.string())),
    ]
)
_TXN = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])
CHECKPOINT = pa.schema(
    [
        ("txn", _TXN),
        ("add", _ADD),
        ("remove", _REMOVE),
        ("metaData", _METADATA),
        ("protocol", _PROTOCOL),
        ("domainMetadata", pa.struct([("domain", pa.string()), ("removed", pa.bool_())])),
    ]
)


def column_batch(**column: Any) -> pa.RecordBatch:
    """Rows of one kind of action: that column set, every other null."""
    ((name, values),) = column.items()
    if not isinstance(values, pa.Array):
        values = pa.array(values, CHECKPOINT.field(name).type)
    arrays = [
        values if field.name == name else pa.nulls(len(values), field.type) for field in CHECKPOINT
    ]
    return pa.record_batch(arrays, schema=CHECKPOINT)


def add_array(rows: FileRows) -> pa.StructArray:
    count = len(rows.path)
    children = {
        "path": rows.path,
        "partitionValues": rows.partition_values,
        "size": rows.size,
        "modificationTime": rows.modification_time,
        "dataChange": pa.array(np.zeros(count, dtype=bool)),
        "deletionVector": _vector_array(rows),
        "stats": rows.stats,
    }
    arrays = [children.get(field.name, pa.nulls(count, field.type)) for field in _ADD]
    return pa.StructArray.from_arrays(arrays, fields=list(_ADD))


def remove_array(rows: FileRows, deleted_ms: int) -> pa.StructArray:
    count = len(rows.path)
    children = {
        "path": rows.path,
        "deletionTimestamp": pa.array(np.full(count, deleted_ms)),
        "dataChange": pa.array(np.zeros(count, dtype=bool)),
        "extendedFileMetadata": pa.array(np.ones(count, dtype=bool)),
        "partitionValues": rows.partition_values,
        "size": rows.size,
    }
    arrays = [children.get(field.name, pa.nulls(count, field.type)) for field in _REMOVE]
    return pa.StructArray.from_arrays(arrays, fields=list(_REMOVE))


def _vector_array(rows: FileRows) -> pa.StructArray:
    count = len(rows.path)
    arrays = [
        pa.array(np.full(count, "u")),
        rows.vector_id,
        pa.array(np.ones(count, dtype=np.int32)),
        pa.array(np.full(count, 40, dtype=np.int32)),
        rows.vector_cardinality,
        pa.nulls(count, pa.int64()),
    ]
    return pa.StructArray.from_arrays(
        arrays, fields=list(_DELETION_VECTOR), mask=pa.array(~rows.has_vector)
    )
