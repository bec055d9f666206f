"""Response formats: which one answers, and its protocol and metaData lines.

Source: Delta Sharing protocol, "Delta Sharing Capabilities Header", "API Response Format in
Parquet", "API Response Format in Delta".
"""

import json
from enum import StrEnum
from typing import Any

from headgate.errors import UnsupportedOperation
from headgate.manifest.head import SchemaChange, Totals
from headgate.model.actions import LOG_FEATURES, READER_FEATURES, Metadata, Protocol
from headgate.model.schema import public_schema_string
from headgate.model.sharing import Capabilities

# Table properties about the provider's own log. Recipients build a log of their own, in which
# these would promise things (commit timestamps, checkpoints) that are not there.
_LOG_PROPERTIES = (
    "delta.enableInCommitTimestamps",
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.checkpointPolicy",
)
_LOG_WRITER_FEATURES = LOG_FEATURES | {"inCommitTimestamp", "inCommitTimestamp-preview"}


class ResponseFormat(StrEnum):
    PARQUET = "parquet"
    DELTA = "delta"


def negotiate(capabilities: Capabilities, change: SchemaChange, totals: Totals) -> ResponseFormat:
    """The response format for a client and a table at one version.

    Raises UnsupportedOperation where the client cannot read the table in any format it accepts.
    """
    asked = [name for name in capabilities.response_formats if name in set(ResponseFormat)]
    if not asked:
        asked = [ResponseFormat.PARQUET.value]
    if len(set(asked)) > 1:
        plain = change.protocol.min_reader_version == 1
        chosen = ResponseFormat.PARQUET if plain else ResponseFormat.DELTA
    else:
        chosen = ResponseFormat(asked[0])
    unreadable = []
    if change.metadata.column_mapping_mode != "none" and not (
        chosen is ResponseFormat.DELTA and "columnmapping" in capabilities.reader_features
    ):
        unreadable.append(("delta.columnMapping.mode", "columnmapping"))
    if chosen is ResponseFormat.PARQUET:
        vectors = totals.deletion_vectors > 0
    else:
        vectors = (
            change.metadata.deletion_vectors_enabled or totals.deletion_vectors > 0
        ) and "deletionvectors" not in capabilities.reader_features
    if vectors:
        unreadable.append(("delta.enableDeletionVectors", "deletionvectors"))
    if unreadable:
        properties = ", ".join(name for name, _ in unreadable)
        features = ",".join(feature for _, feature in unreadable)
        raise UnsupportedOperation(
            f"Unsupported Delta Table Properties: [{properties}]. Use a client that reads them and "
            "sends the header "
            f"delta-sharing-capabilities: responseformat=delta;readerfeatures={features}"
        )
    return chosen


def protocol_line(chosen: ResponseFormat, protocol: Protocol) -> bytes:
    if chosen is ResponseFormat.PARQUET:
        return _line({"protocol": {"minReaderVersion": 1}})
    return _line({"protocol": {"deltaProtocol": recipient_protocol(protocol).to_json()}})


def metadata_line(
    chosen: ResponseFormat, metadata: Metadata, totals: Totals, version: int | None = None
) -> bytes:
    """The metaData line; `version` only where the protocol asks for it (time travel, changes)."""
    extent: dict[str, Any] = {} if version is None else {"version": version}
    extent |= {"size": totals.bytes, "numFiles": totals.files}
    if chosen is ResponseFormat.DELTA:
        action = metadata.to_json()
        action["configuration"] = {
            key: value
            for key, value in action["configuration"].items()
            if key not in _LOG_PROPERTIES
        }
        return _line({"metaData": extent | {"deltaMetadata": action}})
    action = {"id": metadata.id}
    if metadata.name is not None:
        action["name"] = metadata.name
    if metadata.description is not None:
        action["description"] = metadata.description
    action |= {
        "format": {"provider": metadata.format_provider},
        "schemaString": public_schema_string(metadata.schema_string),
        "partitionColumns": list(metadata.partition_columns),
        "configuration": {"enableChangeDataFeed": "true"}
        if metadata.change_data_feed_enabled
        else {},
    }
    return _line({"metaData": action | extent})


def recipient_protocol(protocol: Protocol) -> Protocol:
    """The protocol of the log that a recipient builds.

    Features of the provider's log are left out. A reader feature that the table lists only among
    its writer features is listed on both sides, as the Delta protocol demands and as clients check.
    """
    if protocol.reader_features is None:
        return protocol
    writer = tuple(f for f in protocol.writer_features or () if f not in _LOG_WRITER_FEATURES)
    reader = [f for f in protocol.reader_features if f not in LOG_FEATURES]
    reader += [f for f in writer if f in READER_FEATURES and f not in reader]
    return Protocol(protocol.min_reader_version, protocol.min_writer_version, tuple(reader), writer)


def _line(wrapper: dict[str, Any]) -> bytes:
    # ASCII: a raw line separator such as U+2028 breaks the line iterators of some clients.
    return json.dumps(wrapper, separators=(",", ":")).encode("ascii") + b"\n"
