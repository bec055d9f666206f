"""Table-level actions of a Delta log: protocol and metadata.

File actions never become objects: they travel as Arrow batches (`manifest.actions`).
Source: Delta protocol, "Actions" and "Table Features".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headgate.errors import DeltaLogError
from headgate.model.schema import Struct, parse_schema

# Reader features whose meaning Headgate knows. The first group changes how data files are read,
# so recipients must know it too; the second only concerns the log, which recipients never see.
DATA_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "variantType",
        "variantType-preview",
        "variantShredding",
        "variantShredding-preview",
    }
)
LOG_FEATURES = frozenset({"v2Checkpoint", "vacuumProtocolCheck"})
READER_FEATURES = DATA_FEATURES | LOG_FEATURES
MAX_READER_VERSION = 3


@dataclass(frozen=True, slots=True)
class Protocol:
    """The protocol action; feature sets are None below reader 3 / writer 7."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, action: Mapping[str, Any]) -> "Protocol":
        def features(key: str) -> tuple[str, ...] | None:
            value = action.get(key)
            return None if value is None else tuple(value)

        try:
            return cls(
                int(action["minReaderVersion"]),
                int(action.get("minWriterVersion") or 0),
                features("readerFeatures"),
                features("writerFeatures"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DeltaLogError("the protocol action is not valid") from error

    def to_json(self) -> dict[str, Any]:
        action: dict[str, Any] = {
            "minReaderVersion": self.min_reader_version,
            "minWriterVersion": self.min_writer_version,
        }
        if self.reader_features is not None:
            action["readerFeatures"] = list(self.reader_features)
        if self.writer_features is not None:
            action["writerFeatures"] = list(self.writer_features)
        return action

    def require_readable(self) -> None:
        """Raises DeltaLogError where reading the table needs something Headgate does not know."""
        if self.min_reader_version > MAX_READER_VERSION:
            raise DeltaLogError(f"reader version {self.min_reader_version} is not supported")
        unknown = sorted(set(self.reader_features or ()) - READER_FEATURES)
        if self.min_reader_version == MAX_READER_VERSION and unknown:
            raise DeltaLogError(f"unsupported reader features: {', '.join(unknown)}")


@dataclass(frozen=True)
class Metadata:
    """The metaData action."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    format_provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None

    @classmethod
    def from_json(cls, action: Mapping[str, Any]) -> "Metadata":
        try:
            table_format = action.get("format") or {}
            return cls(
                id=action["id"],
                schema_string=action["schemaString"],
                partition_columns=tuple(action.get("partitionColumns") or ()),
                configuration=dict(action.get("configuration") or {}),
                name=action.get("name"),
                description=action.get("description"),
                format_provider=table_format.get("provider") or "parquet",
                format_options=dict(table_format.get("options") or {}),
                created_time=action.get("createdTime"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DeltaLogError("the metaData action is not valid") from error

    def to_json(self) -> dict[str, Any]:
        action: dict[str, Any] = {"id": self.id}
        if self.name is not None:
            action["name"] = self.name
        if self.description is not None:
            action["description"] = self.description
        action["format"] = {"provider": self.format_provider, "options": dict(self.format_options)}
        action["schemaString"] = self.schema_string
        action["partitionColumns"] = list(self.partition_columns)
        action["configuration"] = dict(self.configuration)
        if self.created_time is not None:
            action["createdTime"] = self.created_time
        return action

    @cached_property
    def schema(self) -> Struct:
        return parse_schema(self.schema_string)

    @property
    def column_mapping_mode(self) -> str:
        return self.configuration.get("delta.columnMapping.mode", "none")

    @property
    def change_data_feed_enabled(self) -> bool:
        return self.configuration.get("delta.enableChangeDataFeed", "").lower() == "true"

    @property
    def deletion_vectors_enabled(self) -> bool:
        return self.configuration.get("delta.enableDeletionVectors", "").lower() == "true"

    @property
    def in_commit_timestamps_enabled(self) -> bool:
        return self.configuration.get("delta.enableInCommitTimestamps", "").lower() == "true"
