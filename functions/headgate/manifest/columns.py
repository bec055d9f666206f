"""Which columns of a table a manifest keeps bounds for, and how Arrow fields name them.

A list of indexed columns is kept as JSON in the metadata of every Arrow schema that has bounds
(`COLUMNS_KEY`); fields refer to it by position, so that any column name is safe:

    value:<k>  partition column: the typed value            (bound_type of the column)
    min:<k>    outer lower bound                            (bound_type)
    max:<k>    outer upper bound                            (bound_type)
    nulls:<k>  null count; of a partition column 0 or 1     (int64; int8 for partition columns)
"""

from collections.abc import Iterable
from dataclasses import dataclass

import orjson
import pyarrow as pa

from headgate.errors import ManifestError
from headgate.model.actions import Metadata
from headgate.model.schema import Decimal, Primitive, leaves
from headgate.predicates.bounds import bound_type

COLUMNS_KEY = b"headgate.columns"


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A column with bounds: physical path, type, and whether it is a partition column."""

    path: tuple[str, ...]
    type: Primitive | Decimal
    partition: bool

    @property
    def arrow_type(self) -> pa.DataType | None:
        """Type of its bounds; None for types (binary, variant) of which only nulls are counted."""
        return bound_type(self.type)


def indexed_columns(metadata: Metadata) -> tuple[IndexedColumn, ...]:
    """Partition columns in their order, then every primitive leaf in schema order."""
    partitions: list[IndexedColumn] = []
    others: list[IndexedColumn] = []
    order = {name.lower(): place for place, name in enumerate(metadata.partition_columns)}
    for leaf in leaves(metadata.schema):
        partition = len(leaf.logical) == 1 and leaf.logical[0].lower() in order
        column = IndexedColumn(leaf.physical, leaf.type, partition)
        (partitions if partition else others).append(column)
    logical = {leaf.physical: leaf.logical[0].lower() for leaf in leaves(metadata.schema)}
    partitions.sort(key=lambda column: order[logical[column.path]])
    return (*partitions, *others)


def encode_columns(columns: Iterable[IndexedColumn]) -> bytes:
    """The list as the JSON kept in an Arrow schema's metadata."""
    return orjson.dumps([[column.path, column.type.name, column.partition] for column in columns])


def decode_columns(schema: pa.Schema) -> tuple[IndexedColumn, ...]:
    """The list kept in `schema`; raises ManifestError where it is missing or damaged."""
    try:
        encoded = orjson.loads(schema.metadata[COLUMNS_KEY])
        return tuple(
            IndexedColumn(tuple(path), _type(name), partition) for path, name, partition in encoded
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestError("a manifest object does not list its columns") from error


def _type(name: str) -> Primitive | Decimal:
    if name.startswith("decimal("):
        precision, scale = name[len("decimal(") : -1].split(",")
        return Decimal(int(precision), int(scale))
    return Primitive(name)
