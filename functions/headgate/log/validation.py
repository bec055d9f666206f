"""Whether Headgate can serve a table, by its protocol and metadata.

Source: Delta protocol, "Requirements for Readers", "Column Mapping" and "Change Metadata".
"""

from headgate.errors import DeltaLogError
from headgate.model.actions import Metadata, Protocol

_COLUMN_MAPPING_MODES = frozenset({"none", "name", "id"})


def require_servable(
    protocol: Protocol | None, metadata: Metadata | None, version: int
) -> tuple[Protocol, Metadata]:
    """Protocol and metadata as of `version`, checked; whoever reads a log calls this for the first
    version and for each that changes either.

    Raises DeltaLogError, naming `version` and the cause, where one is missing, a reader version or
    feature is not known (catalog-managed tables among them), or the metadata does not hold
    together: schema, partition columns, column mapping mode, file format.
    """
    if protocol is None:
        raise DeltaLogError("the log has no protocol action", version)
    if metadata is None:
        raise DeltaLogError("the log has no metaData action", version)
    try:
        protocol.require_readable()
        _require_sound(metadata)
    except DeltaLogError as error:
        raise DeltaLogError(error.cause, version) from error
    return protocol, metadata


def _require_sound(metadata: Metadata) -> None:
    if metadata.format_provider.lower() != "parquet":
        raise DeltaLogError("the data files' format is not parquet")
    mode = metadata.column_mapping_mode
    if mode not in _COLUMN_MAPPING_MODES:
        raise DeltaLogError(f"unknown column mapping mode {mode!r}")
    if not metadata.schema_string:
        raise DeltaLogError("the metadata has no schema")
    schema = metadata.schema
    missing = [name for name in metadata.partition_columns if schema.field(name) is None]
    if missing:
        raise DeltaLogError(f"partition columns not in the schema: {', '.join(missing)}")
