"""What is known of a column over rows, files or groups of files: the evaluator's only input."""

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from headgate.model.schema import Decimal, Primitive

# Delta's primitive types whose bounds are kept, as Arrow types. Binary is left out: writers
# disagree on how its bounds are written as JSON, so they prove nothing.
_BOUND_TYPES: dict[str, pa.DataType] = {
    "byte": pa.int32(),
    "short": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def bound_type(data_type: Primitive | Decimal) -> pa.DataType | None:
    """The Arrow type of a column's min and max, or None where bounds are not kept."""
    if isinstance(data_type, Decimal):
        return pa.decimal128(data_type.precision, data_type.scale)
    return _BOUND_TYPES.get(data_type.name)


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Four arrays of one length, one entry a file (or a group of files).

    `minimum`, `maximum`: outer bounds of the column's non-null values, of the Arrow type that
    `bound_type` gives for the *column as it was written* (it may be narrower than the table's type
    now); null where unknown. They hold for every value but NaN: a floating-point column may hold
    NaN whatever its bounds say, and NaN sorts above every other value (Spark SQL, "NaN Semantics").
    `may_be_null`, `may_be_value`: bool, never null; False only where it is certain that no value
    is null, or that every value is.
    """

    minimum: pa.Array
    maximum: pa.Array
    may_be_null: pa.BooleanArray
    may_be_value: pa.BooleanArray


class Bounds(Protocol):
    """Bounds of many columns over the same files."""

    @property
    def length(self) -> int: ...

    def column(self, physical: tuple[str, ...]) -> ColumnBounds | None:
        """The bounds of a column by its physical path, or None where nothing is known."""
        ...
