"""The data files of a table of orders, as columns of add actions, a chunk at a time.

A chunk's rows depend on nothing but the arguments, so chunks can be made in any order, or again.
Everything is done per chunk with numpy and Arrow, nothing per file.
"""

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MS_PER_DAY = 86_400_000
_Z85 = np.frombuffer(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    dtype=np.uint8,
)
_REGIONS = ("ap-northeast", "ap-south", "eu-central", "eu-west", "sa-east", "us-east", "us-west")
# Parts of notes, to 40 characters and more, so that their bounds are truncated to 32.
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty")

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class FileRows:
    """One entry a file. `stats` is null where a file has none."""

    path: pa.Array  # string
    partition_values: pa.Array  # map<string, string>
    size: pa.Array  # int64, bytes
    modification_time: pa.Array  # int64, ms since the epoch
    stats: pa.Array  # string, JSON
    has_vector: Numbers  # bool
    vector_id: pa.Array  # string, 20 characters of Z85
    vector_cardinality: pa.Array  # int64


def file_rows(
    *,
    start: int,
    count: int,
    total: int,
    days: int,
    first_day: datetime.date,
    regions: int,
    rows_per_file: int,
    vector_fraction: float,
    no_stats_fraction: float,
    tight_bounds: bool,
    seed: int,
) -> FileRows:
    """Files `start` to `start + count` of a table whose first `total` files fill its days in order.

    Files past `total` fall into the last day, as new data does.
    """
    random = np.random.default_rng([seed, 2, start])
    number = np.arange(start, start + count, dtype=np.int64)
    place = np.minimum(number, total - 1)
    per_day = max(total / days, 1.0)
    day = np.minimum((place / per_day).astype(np.int64), days - 1)
    # How far into its day a file's rows begin: files of one day follow one another.
    into_day = np.clip(place / per_day - day, 0, 1)
    day_number = (first_day - datetime.date(1970, 1, 1)).days + day
    midnight_ms = day_number * MS_PER_DAY

    path, partition_values = _partitions(random, day_number, regions)
    has_vector = random.random(count) < vector_fraction
    rows = random.integers(rows_per_file // 2, rows_per_file * 3 // 2, count)
    stats = _stats(random, number, rows, midnight_ms, into_day, per_day, has_vector, tight_bounds)
    if no_stats_fraction > 0:
        missing = random.random(count) < no_stats_fraction
        stats = pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), stats)
    written_ms = midnight_ms + ((into_day * MS_PER_DAY).astype(np.int64)) + 600_000
    return FileRows(
        path=path,
        partition_values=partition_values,
        size=pa.array(rows * 61 + random.integers(0, 4096, count)),
        modification_time=pa.array(written_ms),
        stats=stats,
        has_vector=has_vector,
        vector_id=pa.array(vector_ids(random, count)).cast(pa.string()),
        vector_cardinality=pa.array(random.integers(1, 500, count)),
    )


def vector_ids(random: np.random.Generator, count: int) -> Numbers:
    """Random UUIDs in Z85, as relative deletion vectors name their files; dtype S20."""
    words = random.integers(0, 2**32, (count, 4), dtype=np.uint64)
    powers = np.array([85**4, 85**3, 85**2, 85, 1], dtype=np.uint64)
    digits = (words[:, :, None] // powers) % np.uint64(85)
    return _Z85[digits.astype(np.intp)].reshape(count, 20).view("S20").ravel()


def _uuids(random: np.random.Generator, count: int) -> Numbers:
    """Random version 4 UUIDs in their usual text form; dtype S36."""
    hexes = np.frombuffer(random.bytes(16 * count).hex().encode(), dtype=np.uint8)
    hexes = hexes.reshape(count, 32).copy()
    hexes[:, 12] = ord("4")
    hexes[:, 16] = np.frombuffer(b"89ab", dtype=np.uint8)[random.integers(0, 4, count)]
    text = np.full((count, 36), ord("-"), dtype=np.uint8)
    for source, target, length in ((0, 0, 8), (8, 9, 4), (12, 14, 4), (16, 19, 4), (20, 24, 12)):
        text[:, target : target + length] = hexes[:, source : source + length]
    return text.view("S36").ravel()


def _partitions(
    random: np.random.Generator, day_number: Numbers, regions: int
) -> tuple[pa.Array, pa.Array]:
    """Paths and partition values."""
    count = len(day_number)
    date = pa.array(day_number.astype(np.int32), pa.int32()).cast(pa.date32()).cast(pa.string())
    names = pa.array([_REGIONS[i % 7] + ("" if i < 7 else f"-{i // 7}") for i in range(regions)])
    task = pa.array(np.char.zfill(random.integers(0, 200, count).astype("S3"), 5)).cast(pa.string())
    uuid = pa.array(_uuids(random, count)).cast(pa.string())
    folder = _join("date=", date, "/")
    keys = ["date"]
    values = [date]
    if regions:
        region = names.take(pa.array(random.integers(0, regions, count)))
        folder = _join(folder, "region=", region, "/")
        keys.append("region")
        values.append(region)
    path = _join(folder, "part-", task, "-", uuid, ".c000.snappy.parquet")
    width = len(keys)
    # Values of one file side by side: file 0's date, file 0's region, file 1's date…
    order = np.arange(count * width).reshape(width, count).T.ravel()
    items = pa.concat_arrays(values).take(pa.array(order))
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * width)
    return path, pa.MapArray.from_arrays(offsets, pa.array(keys * count), items)


def _stats(
    random: np.random.Generator,
    number: Numbers,
    rows: Numbers,
    midnight_ms: Numbers,
    into_day: Numbers,
    per_day: float,
    has_vector: Numbers,
    tight_bounds: bool,
) -> pa.Array:
    """Per-file statistics as Spark writes them: no bounds for booleans, timestamps cut to ms,
    strings cut to 32 characters with U+007F after a cut maximum, bounds left out where a column
    holds only nulls."""
    count = len(number)

    def integers(low: int, high: int) -> Numbers:
        return random.integers(low, high, count)

    order_low = number * 100_000 + integers(0, 1_000)
    order_high = order_low + rows
    user_low, user_high = integers(1, 5_000), integers(9_000_000, 10_000_000)
    begin_ms = midnight_ms + (into_day * MS_PER_DAY * 0.99).astype(np.int64)
    spread_ms = max(int(MS_PER_DAY / max(per_day, 1.0)), 60_000)
    end_ms = np.minimum(begin_ms + integers(1, spread_ms + 1), midnight_ms + MS_PER_DAY - 1)
    price_low, price_high = _cents(integers(1, 1_000)), _cents(integers(50_000, 100_000))
    total_low, total_high = integers(1, 2_000), integers(500_000, 10_000_000)
    sku_low, sku_high = integers(0, 500), integers(999_000, 1_000_000)
    note_low, note_high = integers(0, 300), integers(700, 1_000)
    all_null = random.random(count) < 0.02
    notes_null = np.where(all_null, rows, rows // 3)

    def note(numbers: Numbers, suffix: str) -> pa.Array:
        return pc.if_else(pa.array(all_null), "", _join(',"note":"', _notes(numbers), suffix))

    lows = _bounds(order_low, user_low, begin_ms, price_low, total_low, integers(1, 3), sku_low)
    highs = _bounds(
        order_high, user_high, end_ms, price_high, total_high, integers(10, 100), sku_high
    )
    tight = ""
    if tight_bounds:
        tight = pc.if_else(pa.array(has_vector), ',"tightBounds":false', ',"tightBounds":true')
    return _join(
        '{"numRecords":',
        _text(rows),
        ',"minValues":{',
        *lows,
        note(note_low, '"'),
        '},"maxValues":{',
        *highs,
        note(note_high, '\x7f"'),
        '},"nullCount":{"order_id":0,"user_id":',
        _text(integers(0, 3) * 7),
        ',"event_time":0,"price":0,"total":0,"quantity":0,"sku":0,"note":',
        _text(notes_null),
        ',"is_gift":0}',
        tight,
        "}",
    )


def _bounds(
    order: Numbers,
    user: Numbers,
    at_ms: Numbers,
    cents: Numbers,
    total_cents: Numbers,
    quantity: Numbers,
    sku: Numbers,
) -> list[Any]:
    """The members of minValues or maxValues, but for the note."""
    at = pa.array(at_ms).cast(pa.timestamp("ms")).cast(pa.string())
    return [
        '"order_id":',
        _text(order),
        ',"user_id":',
        _text(user),
        ',"event_time":"',
        pc.utf8_replace_slice(at, 10, 11, "T"),
        'Z","price":',
        pa.array(cents / 100.0).cast(pa.string()),
        ',"total":',
        _decimals(total_cents),
        ',"quantity":',
        _text(quantity),
        ',"sku":"SKU-',
        pa.array(np.char.zfill(sku.astype("S7"), 7)).cast(pa.string()),
        '"',
    ]


def _cents(values: Numbers) -> Numbers:
    """Never whole units, so that every price reads as a floating-point number in JSON."""
    return np.where(values % 100 == 0, values + 1, values)


def _decimals(cents: Numbers) -> pa.Array:
    """Cents as decimal text with two places."""
    fraction = pa.array(np.char.zfill((cents % 100).astype("S2"), 2)).cast(pa.string())
    return _join(_text(cents // 100), ".", fraction)


def _notes(numbers: Numbers) -> pa.Array:
    """The first 32 characters of a longer text, in the order of the numbers (0 to 999)."""
    words = pa.array(_WORDS)
    hundreds, tens, ones = (
        words.take(pa.array((numbers // divisor) % 10)) for divisor in (100, 10, 1)
    )
    return pc.utf8_slice_codeunits(
        _join(hundreds, " ", tens, " ", ones, " was left at the door"), 0, 32
    )


def _text(values: Numbers) -> pa.Array:
    return pa.array(values).cast(pa.string())


def _join(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")
