"""File actions as Arrow: what the log readers give and the row builder takes.

Source: Delta protocol, "Add File and Remove File" and "Add CDC File".
"""

import pyarrow as pa

# One row per add, remove or cdc action.
ACTIONS = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),  # table version of the commit; of the
        # checkpoint for rows read from one
        pa.field("ordinal", pa.int32(), nullable=False),  # place within the commit, from 0
        pa.field("action", pa.string(), nullable=False),  # add | remove | cdc
        pa.field("key", pa.binary(16), nullable=False),  # manifest.keys.file_key
        pa.field("path", pa.string(), nullable=False),  # as written in the log (URL-encoded)
        pa.field("partition_values", pa.map_(pa.string(), pa.string())),  # physical names; null
        # where the action has none (some removes)
        pa.field("size", pa.int64()),  # bytes; null on removes without it
        pa.field("modification_time", pa.int64()),  # ms since the epoch, adds only
        pa.field("deletion_timestamp", pa.int64()),  # ms since the epoch, removes only
        pa.field("data_change", pa.bool_(), nullable=False),
        pa.field("stats", pa.string()),  # JSON text, rendered from stats_parsed where need be
        pa.field("dv_storage_type", pa.string()),  # u | i | p; null without a deletion vector
        pa.field("dv_path_or_inline", pa.string()),
        pa.field("dv_offset", pa.int32()),
        pa.field("dv_size", pa.int32()),  # bytes
        pa.field("dv_cardinality", pa.int64()),  # rows deleted
        pa.field("base_row_id", pa.int64()),
        pa.field("default_row_commit_version", pa.int64()),
    ]
)
