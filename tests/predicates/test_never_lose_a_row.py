"""Invariant 1 on the evaluator: a file with a matching row is kept, however loose its bounds."""

import datetime as dt
import decimal
import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from headgate.model.schema import Decimal
from headgate.predicates.bind import bind, unused
from headgate.predicates.bounds import ColumnBounds, bound_type
from headgate.predicates.evaluate import might_match
from headgate.predicates.parse_json import parse_json_hint
from headgate.predicates.parse_sql import parse_sql_hints

DAY_US = 86_400_000_000
EPOCH = dt.datetime(1970, 1, 1)


@dataclass
class FileBounds:
    length: int
    columns: dict[tuple[str, ...], ColumnBounds]

    def column(self, physical: tuple[str, ...]) -> ColumnBounds | None:
        return self.columns.get(physical)


def truncated(low: str, high: str, length: int) -> tuple[str, str | None]:
    """Spark's bounds of long strings: a prefix, and a prefix with a tie-breaker above it."""
    if len(high) > length:
        high = high[:length] + "\U0010ffff"
    return low[:length], high


def wider(draw, kind, low, high):
    """Outer bounds, as writers of statistics loosen them."""
    looseness = draw(st.integers(0, 3))
    if kind.name == "string":
        return truncated(low, high, (32, 32, 2, 1)[looseness])
    if kind.name in ("timestamp", "timestamp_ntz") and looseness:
        return low // 1000 * 1000, -(-high // 1000) * 1000
    if kind.name in ("integer", "long") and looseness == 3:
        return max(low - 1, -(2**31)) if low >= -(2**31) else low, high
    if kind.name in ("float", "double") and looseness == 3:
        # Zero has two signs, and a writer may have kept the other.
        return (low * -1.0 if low == 0 else low), (high * -1.0 if high == 0 else high)
    return low, high


def narrowed(draw, kind, lows, highs):
    """The type that the column had before widening, where every bound fits it."""
    held = [each for each in (*lows, *highs) if each is not None]
    own = bound_type(kind)
    if kind.name in ("timestamp", "timestamp_ntz"):
        midnights = all(each % DAY_US == 0 for each in held)
        if kind.name == "timestamp_ntz" and midnights and draw(st.booleans()):
            return pa.date32(), [[e and e // DAY_US for e in ends] for ends in (lows, highs)]
        return own, [lows, highs]
    if draw(st.booleans()):
        small = all(each == int(each) and abs(each) < 2**31 for each in held if finite(each))
        if small and all(map(finite, held)) and (kind.name == "long" or isinstance(kind, Decimal)):
            whole = [[None if e is None else int(e) for e in ends] for ends in (lows, highs)]
            return pa.int32(), whole
    return own, [lows, highs]


def finite(value: Any) -> bool:
    return isinstance(value, int | decimal.Decimal | float) and math.isfinite(value)


def bounds_of(draw, generator, table) -> FileBounds:
    columns = {}
    for index, column in enumerate(table.columns):
        if draw(st.integers(0, 9)) == 0:
            continue
        lows, highs, nulls, values = [], [], [], []
        for rows in table.files:
            held = [row[index] for row in rows]
            present = [each for each in held if each is not None]
            if column.partition and column.type.name == "timestamp":
                # The log holds the client's wall clock; the index knows no zone and takes UTC.
                present = [generator.local_us(each, table.zone) for each in present]
            ordered = [e for e in present if not (isinstance(e, float) and math.isnan(e))]
            low = high = None
            if ordered:
                key = str.encode if column.type.name == "string" else None
                low, high = min(ordered, key=key), max(ordered, key=key)
                if not column.partition:
                    low, high = wider(draw, column.type, low, high)
            missing = draw(st.integers(0, 9))
            lows.append(None if missing in (0, 1) else low)
            highs.append(None if missing in (0, 2) else high)
            nulls.append(None in held or missing == 3)
            values.append(bool(present) or missing == 4)
        kind, (lows, highs) = narrowed(draw, column.type, lows, highs)
        columns[column.physical] = ColumnBounds(
            pa.array(lows, kind), pa.array(highs, kind), pa.array(nulls), pa.array(values)
        )
    return FileBounds(len(table.files), columns)


UNHURRIED = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@settings(max_examples=350, **UNHURRIED)
@given(data=st.data())
def test_a_file_with_a_matching_row_is_kept(generator, data) -> None:
    check(generator, data, data.draw(generator.tables(), label="table"), depth=2)


@pytest.mark.parametrize("family", ["integer", "floating", "text", "plain", "time", "decimal"])
@settings(max_examples=60, **UNHURRIED)
@given(data=st.data())
def test_each_family_of_types_on_its_own(generator, family, data) -> None:
    check(generator, data, data.draw(generator.tables((family,)), label="table"), depth=1)


def check(generator, data, table, depth) -> None:
    bounds = bounds_of(data.draw, generator, table)
    for _ in range(8):
        condition = data.draw(generator.conditions(table, depth), label="condition")
        matching = [
            any(condition.evaluate(row, table.zone) is True for row in rows) for rows in table.files
        ]
        hints = {"sql": parse_sql_hints([condition.sql()])[0]}
        text = condition.json_text(table.zone)
        if text is not None:
            hints["json"] = parse_json_hint(text)
        for language, predicate in hints.items():
            bound = bind(predicate, table.schema, table.partition_columns)
            kept = might_match(bound, bounds)
            assert len(kept) == bounds.length
            assert kept.null_count == 0
            pruned = bounds.length - kept.true_count
            event(f"{language}: {'pruned' if pruned else 'kept'}")
            event(f"{language}: {'a part is unused' if unused(bound) else 'all of it is used'}")
            for file, (matches, keep) in enumerate(zip(matching, kept.to_pylist(), strict=True)):
                assert keep or not matches, (
                    f"{language} lost file {file} {table.files[file]} of {table.columns}: "
                    f"{condition.sql()} | {text} | {table.zone} | {bound} | "
                    f"{[(c.minimum, c.maximum) for c in bounds.columns.values()]}"
                )
