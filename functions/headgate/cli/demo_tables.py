"""The tables of `headgate demo`, written by real Delta writers, and the rows they must give back.

`sales` and `trips` are written here with deltalake; `visits`, with deletion vectors and column
mapping, is kept ready-made (`demo_data/make_visits.py` wrote it with delta-spark).
"""

import datetime
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

_TRIP_FILES = 60
_TRIPS_A_FILE = 200


@dataclass(frozen=True)
class DemoTable:
    """A table's folder, what it shows, and its rows at some versions (None: the latest)."""

    name: str
    folder: Path
    about: str
    rows: dict[int | None, pa.Table]


def build_tables(folder: Path) -> Iterator[DemoTable]:
    """Writes the tables below `folder`, one after the other."""
    yield _sales(folder / "sales")
    yield _trips(folder / "trips")
    yield _visits(folder / "visits")


def _sales(folder: Path) -> DemoTable:
    """Partitioned by date; appended to, updated, deleted from and merged into."""

    def orders(day: int, first: int) -> pa.Table:
        count = 50
        ids = list(range(first, first + count))
        return pa.table(
            {
                "order_id": pa.array(ids, pa.int64()),
                "customer": [f"customer {number % 12:02}" for number in ids],
                "amount": [round(number * 1.25 % 90 + 1, 2) for number in ids],
                "date": pa.array([datetime.date(2026, 1, day)] * count),
            }
        )

    for day in range(1, 6):
        write_deltalake(folder, orders(day, day * 1_000), partition_by=["date"], mode="append")
    at_version_4 = _read(folder)
    table = DeltaTable(folder)
    table.update(predicate="customer = 'customer 03'", updates={"amount": "amount * 2"})
    table.delete("date = '2026-01-02' AND amount < 30")
    changed = orders(5, 5_040)
    (
        table.merge(changed, "target.order_id = source.order_id", "source", "target")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    return DemoTable(
        "sales",
        folder,
        "partitioned; appends, an update, a delete, a merge",
        {4: at_version_4, None: _read(folder)},
    )


def _trips(folder: Path) -> DemoTable:
    """Unpartitioned, a file an hour: pruned by the statistics of `started_at`."""
    start = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    for hour in range(_TRIP_FILES):
        ids = range(hour * _TRIPS_A_FILE, (hour + 1) * _TRIPS_A_FILE)
        minute = datetime.timedelta(hours=1) / _TRIPS_A_FILE
        rows = pa.table(
            {
                "trip_id": pa.array(ids, pa.int64()),
                "started_at": pa.array(
                    [start + number * minute for number in ids], pa.timestamp("us", "UTC")
                ),
                "distance_km": [round(number * 0.37 % 25, 2) for number in ids],
            }
        )
        write_deltalake(folder, rows, mode="append")
    return DemoTable(
        "trips", folder, f"{_TRIP_FILES} files in order of time", {None: _read(folder)}
    )


def _visits(folder: Path) -> DemoTable:
    """2,000 rows, of which 40 were deleted and 20 updated in place, by deletion vectors."""
    with_data = Path(str(files("headgate.cli").joinpath("demo_data", "visits")))
    shutil.copytree(with_data, folder)
    ids = pa.array([number for number in range(2_000) if number % 50], pa.int64())
    seconds = [number % 90 + (1_000 if number % 100 == 1 else 0) for number in ids.to_pylist()]
    rows = pa.table(
        {
            "id": ids,
            "page": [f"/page/{number % 7}" for number in ids.to_pylist()],
            "duration_s": pa.array(seconds, pa.int32()),
            "day": pa.array([datetime.date(2026, 1, 1 + number % 4) for number in ids.to_pylist()]),
        }
    )
    return DemoTable(
        "visits", folder, "deletion vectors, column mapping, a renamed column", {None: rows}
    )


def _read(folder: Path) -> pa.Table:
    return pa.table(DeltaTable(folder).to_pyarrow_table())


def where(rows: pa.Table, column: str, low: object, high: object) -> pa.Table:
    """The rows whose `column` is in [low, high]."""
    values = rows[column]
    return rows.filter(pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high)))
