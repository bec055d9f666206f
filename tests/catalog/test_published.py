"""The published catalog, as handlers keep it."""

from pathlib import Path

import pytest

from headgate.catalog.published import PublishedCatalog
from headgate.errors import CatalogError, ObjectNotFound
from headgate.storage.local import LocalObjectStore
from tests.handlers.events import publish


def test_a_new_catalog_is_read_when_the_old_one_is_too_old(tmp_path: Path) -> None:
    publish(tmp_path, "sales", "stock")
    kept = PublishedCatalog(LocalObjectStore(tmp_path), "catalog.json", ttl_s=3600)
    fresh = PublishedCatalog(LocalObjectStore(tmp_path), "catalog.json", ttl_s=0)
    assert [len(catalog().shares) for catalog in (kept, fresh)] == [2, 2]
    publish(tmp_path, "sales")
    assert [len(catalog().shares) for catalog in (kept, fresh)] == [2, 1]


def test_a_lost_or_damaged_catalog_grants_nothing(tmp_path: Path) -> None:
    publish(tmp_path, "sales")
    catalog = PublishedCatalog(LocalObjectStore(tmp_path), "catalog.json", ttl_s=0)
    catalog()
    (tmp_path / "catalog.json").write_bytes(b"{")
    with pytest.raises(CatalogError, match="damaged"):
        catalog()
    (tmp_path / "catalog.json").unlink()
    with pytest.raises(ObjectNotFound):
        catalog()
