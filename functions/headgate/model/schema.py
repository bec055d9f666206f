"""Delta schema types and the fields of a schema string.

Source: Delta protocol, "Schema Serialization Format" and "Column Mapping".
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.errors import DeltaLogError


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type by its Delta name, for example `long` or `timestamp_ntz`."""

    name: str


@dataclass(frozen=True, slots=True)
class Decimal:
    """`decimal(precision,scale)`."""

    precision: int
    scale: int

    @property
    def name(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    element: "DataType"


@dataclass(frozen=True, slots=True)
class Map:
    key: "DataType"
    value: "DataType"


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple["Field", ...]

    def field(self, name: str) -> "Field | None":
        """The field of this name: exact first, then ignoring case as Spark resolves names."""
        lowered = name.lower()
        folded = None
        for field in self.fields:
            if field.name == name:
                return field
            if folded is None and field.name.lower() == lowered:
                folded = field
        return folded


DataType = Primitive | Decimal | Array | Map | Struct


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct; `metadata` is its JSON map as written."""

    name: str
    type: DataType
    nullable: bool
    metadata: Mapping[str, Any]

    @property
    def physical_name(self) -> str:
        """The name in Parquet files, statistics and partitionValues."""
        name = self.metadata.get("delta.columnMapping.physicalName")
        return name if isinstance(name, str) else self.name

    @property
    def field_id(self) -> int | None:
        value = self.metadata.get("delta.columnMapping.id")
        return value if isinstance(value, int) else None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A primitive column, nested ones included: the unit that has statistics.

    `logical` and `physical` are paths from the root, one name per level.
    """

    logical: tuple[str, ...]
    physical: tuple[str, ...]
    type: Primitive | Decimal
    field: Field


def parse_schema(schema_string: str) -> Struct:
    """The struct of a Delta `schemaString`.

    Raises DeltaLogError where it is not a schema.
    """
    try:
        parsed = _data_type(json.loads(schema_string))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DeltaLogError("the metadata's schemaString is not a Delta schema") from error
    if not isinstance(parsed, Struct):
        raise DeltaLogError("the metadata's schemaString is not a struct")
    return parsed


def _data_type(node: Any) -> DataType:
    if isinstance(node, str):
        if node.startswith("decimal"):
            inside = node.removeprefix("decimal").strip("()")
            precision, _, scale = inside.partition(",")
            return Decimal(int(precision or 10), int(scale or 0))
        # A collated string (`string collate UNICODE_CI`) keeps its whole name: it does not compare
        # by bytes, so nothing that knows strings may take it for one.
        return Primitive(node)
    kind = node["type"]
    if kind == "struct":
        return Struct(
            tuple(
                Field(
                    field["name"],
                    _data_type(field["type"]),
                    field.get("nullable", True),
                    field.get("metadata") or {},
                )
                for field in node["fields"]
            )
        )
    if kind == "array":
        return Array(_data_type(node["elementType"]))
    if kind == "map":
        return Map(_data_type(node["keyType"]), _data_type(node["valueType"]))
    return _data_type(kind)


def leaves(struct: Struct) -> Iterator[Leaf]:
    """Every primitive leaf reached through structs, in schema order (arrays and maps have none)."""
    yield from _leaves(struct, (), ())


def _leaves(struct: Struct, logical: tuple[str, ...], physical: tuple[str, ...]) -> Iterator[Leaf]:
    for field in struct.fields:
        here = (*logical, field.name)
        there = (*physical, field.physical_name)
        if isinstance(field.type, Struct):
            yield from _leaves(field.type, here, there)
        elif isinstance(field.type, Primitive | Decimal):
            yield Leaf(here, there, field.type, field)


def public_schema_string(schema_string: str) -> str:
    """The schema string of the parquet response format: of field metadata only comments stay.

    Source: reference server, `DeltaSharingService` / `DeltaSharedTable.cleanUpTableSchema`.
    """

    def clean(node: Any) -> Any:
        if isinstance(node, list):
            return [clean(item) for item in node]
        if not isinstance(node, dict):
            return node
        cleaned = {key: clean(value) for key, value in node.items() if key != "metadata"}
        if "metadata" in node:
            metadata = node["metadata"] or {}
            cleaned["metadata"] = {k: v for k, v in metadata.items() if k == "comment"}
        return cleaned

    return json.dumps(clean(json.loads(schema_string)), separators=(",", ":"))
