"""All golden tables, indexed by the Spark pipeline and served, for the official client to read."""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import delta_sharing
import pytest
import yaml

from headgate.catalog.loader import load_catalog
from headgate.indexer.pipeline import index_tables
from headgate.indexer.session import spark_session
from headgate.local.server import bind_socket, local_app, make_server, origin_of
from headgate.settings import Settings
from headgate.storage.options import StorageOptions

TOKEN = "golden-tables"


@dataclass(frozen=True)
class GoldenTable:
    """One row of INDEX.md, with what OBSERVED.json says of it."""

    path: str
    status: str
    features: tuple[str, ...]
    observed: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.replace("/", "-").replace(".", "_")


class GoldenServer:
    """A running server over the golden tables, and a profile to reach it."""

    def __init__(self, origin: str, folder: Path) -> None:
        self.endpoint = f"{origin}/delta-sharing"
        self.profile = folder / "golden.share"
        self.profile.write_text(
            json.dumps(
                {
                    "shareCredentialsVersion": 1,
                    "endpoint": self.endpoint,
                    "bearerToken": TOKEN,
                }
            )
        )

    @cached_property
    def client(self) -> delta_sharing.SharingClient:
        return delta_sharing.SharingClient(str(self.profile))

    def url(self, table: GoldenTable) -> str:
        return f"{self.profile}#golden.default.{table.name}"


def golden_tables(folder: Path) -> list[GoldenTable]:
    observed = json.loads((folder / "OBSERVED.json").read_text())
    tables = []
    for line in (folder / "INDEX.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 11 and (folder / cells[0] / "_delta_log").is_dir():
            features = tuple(cells[2].split("; "))
            tables.append(GoldenTable(cells[0], cells[7], features, observed.get(cells[0], {})))
    return tables


@pytest.fixture(scope="session")
def golden_server(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenServer]:
    folder = tmp_path_factory.mktemp("golden")
    catalog = folder / "catalog.yaml"
    catalog.write_text(
        yaml.safe_dump(
            {
                "shares": [
                    {
                        "name": "golden",
                        "schemas": [
                            {
                                "name": "default",
                                "tables": [
                                    {
                                        "name": table.name,
                                        "location": str(golden / table.path),
                                        "historyShared": True,
                                    }
                                    for table in golden_tables(golden)
                                ],
                            }
                        ],
                    }
                ],
                "recipients": [
                    {
                        "name": "tests",
                        "shares": ["golden"],
                        "tokens": [{"sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}],
                    }
                ],
            }
        )
    )
    index = folder / "index"
    index_tables(
        lambda: spark_session("local[2]"),
        load_catalog(catalog).tables_by_location(),
        str(index),
        StorageOptions(),
    )
    settings = Settings(catalog=str(catalog), index_url=str(index))
    listener = bind_socket("127.0.0.1", 0)
    origin = origin_of(listener)

    def no_catalog_error(error: Exception) -> None:
        raise error

    server = make_server(local_app(settings, origin, no_catalog_error))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield GoldenServer(origin, folder)
    server.should_exit = True
    thread.join()
