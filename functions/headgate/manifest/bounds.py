"""Bounds of files, and of the groups of files that zone maps describe, as the evaluator sees them.

Both implement `predicates.bounds.Bounds`.
"""

from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from headgate.manifest.columns import IndexedColumn, decode_columns
from headgate.predicates.bounds import ColumnBounds


class _Columns:
    """Finds a column's position by its physical path."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._names = set(batch.schema.names)

    @property
    def length(self) -> int:
        return int(self._batch.num_rows)

    @cached_property
    def columns(self) -> tuple[IndexedColumn, ...]:
        return decode_columns(self._batch.schema)

    @cached_property
    def _places(self) -> dict[tuple[str, ...], int]:
        return {column.path: place for place, column in enumerate(self.columns)}

    def _get(self, name: str) -> pa.Array | None:
        return self._batch.column(name) if name in self._names else None

    def _unknown(self, place: int) -> pa.Array:
        return pa.nulls(self.length, self.columns[place].arrow_type or pa.null())

    def _flags(self, flags: pa.Array | None) -> pa.BooleanArray:
        if flags is None:
            return pa.repeat(True, self.length)
        return pc.fill_null(flags, True)


class FileBounds(_Columns):
    """Bounds of each file of a prune batch or tail segment."""

    def column(self, physical: tuple[str, ...]) -> ColumnBounds | None:
        place = self._places.get(physical)
        nulls = None if place is None else self._get(f"nulls:{place}")
        if place is None or nulls is None:
            return None
        if self.columns[place].partition:
            value = self._get(f"value:{place}")
            minimum, maximum = self._get(f"min:{place}"), self._get(f"max:{place}")
            may_be_value = pc.not_equal(nulls, 1)
        else:
            value, minimum, maximum = None, self._get(f"min:{place}"), self._get(f"max:{place}")
            may_be_value = pc.not_equal(nulls, self._batch.column("num_records"))
        unknown = self._unknown(place) if value is None else value
        return ColumnBounds(
            unknown if minimum is None else minimum,
            unknown if maximum is None else maximum,
            self._flags(pc.not_equal(nulls, 0)),
            self._flags(may_be_value),
        )


class ZoneBounds(_Columns):
    """Bounds of each group of files of a zone-map batch."""

    def column(self, physical: tuple[str, ...]) -> ColumnBounds | None:
        place = self._places.get(physical)
        if place is None:
            return None
        minimum, maximum = self._get(f"min:{place}"), self._get(f"max:{place}")
        return ColumnBounds(
            self._unknown(place) if minimum is None else minimum,
            self._unknown(place) if maximum is None else maximum,
            self._flags(self._get(f"may_null:{place}")),
            self._flags(self._get(f"may_value:{place}")),
        )
