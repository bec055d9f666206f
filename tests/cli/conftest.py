"""A small shop: real Delta tables, indexed by the Spark pipeline once for all tests of commands."""

import datetime
import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake

from headgate.catalog.loader import load_catalog
from headgate.indexer.pipeline import index_tables
from headgate.indexer.session import spark_session
from headgate.storage.options import StorageOptions

DAYS = 4
FILES_A_DAY = 3
ROWS_A_FILE = 10
# Not in the index, though in the catalog.
NEVER_INDEXED = "never"


@dataclass(frozen=True)
class Shop:
    """The catalog and the index of tables `orders` (as indexed), `late` (two commits more than
    were indexed), `broken` (refused) and `never` (not indexed), all in shop.sales.
    """

    catalog: Path
    index: Path
    tables: Path

    @property
    def options(self) -> list[str]:
        return ["--catalog", str(self.catalog), "--index", str(self.index)]


def orders(day: int, file: int) -> pa.Table:
    start = (day * FILES_A_DAY + file) * ROWS_A_FILE
    ids = range(start, start + ROWS_A_FILE)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "day": pa.array([datetime.date(2024, 1, 1 + day)] * ROWS_A_FILE),
            "amount": [float(i % 7) for i in ids],
            "name": [f"order-{i:04}" for i in ids],
        }
    )


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder = tmp_path_factory.mktemp("shop")
    tables = folder / "tables"
    tables.mkdir()
    for day in range(DAYS):
        for file in range(FILES_A_DAY):
            place = str(tables / "orders")
            write_deltalake(place, orders(day, file), mode="append", partition_by=["day"])
    # Rewrites one file, and removes another.
    DeltaTable(str(tables / "orders")).delete("id >= 115")
    DeltaTable(str(tables / "orders")).delete("id < 10")
    for name in ("late", NEVER_INDEXED):
        write_deltalake(str(tables / name), orders(0, 0))
    log = tables / "broken" / "_delta_log"
    log.mkdir(parents=True)
    schema = {"type": "struct", "fields": []}
    metadata = {"id": "m", "format": {"provider": "parquet"}, "schemaString": json.dumps(schema)}
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["timeMachine"],
        "writerFeatures": ["timeMachine"],
    }
    actions = [{"protocol": protocol}, {"metaData": metadata | {"partitionColumns": []}}]
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))

    catalog = folder / "catalog.yaml"
    listed = [
        {"name": path.name, "location": str(path), "historyShared": path.name == "orders"}
        for path in sorted(tables.iterdir())
    ]
    document = {"shares": [{"name": "shop", "schemas": [{"name": "sales", "tables": listed}]}]}
    catalog.write_text(yaml.safe_dump(document))
    locations = load_catalog(catalog).tables_by_location()
    index_tables(
        lambda: spark_session("local[2]"),
        [each for each in locations if not each.location.endswith(NEVER_INDEXED)],
        str(folder / "index"),
        StorageOptions(),
    )
    for file in (1, 2):
        write_deltalake(str(tables / "late"), orders(0, file), mode="append")
    return Shop(catalog, folder / "index", tables)
