"""Options that several commands share."""

from dataclasses import replace
from pathlib import Path

from headgate.catalog.catalog import Catalog, SharedLocation
from headgate.errors import CatalogError
from headgate.settings import Settings


def settings_from(catalog: Path | None, index: str | None) -> Settings:
    """The environment's settings, with what the command line gives in their place."""
    settings = Settings.from_env()
    if catalog is not None:
        settings = replace(settings, catalog=str(catalog))
    if index is not None:
        settings = replace(settings, index_url=index)
    return settings


def chosen_locations(catalog: Catalog, names: list[str]) -> list[SharedLocation]:
    """The shared locations of these tables (`share.schema.table`, or a part of it); all if none.

    Raises CatalogError where a name is no table's.
    """
    locations = catalog.tables_by_location()
    if not names:
        return list(locations)
    chosen: dict[str, SharedLocation] = {}
    for name in names:
        wanted = name.lower()
        found = [
            location
            for location in locations
            if any(
                full.lower() == wanted or full.lower().endswith(f".{wanted}")
                for full in location.names
            )
        ]
        if not found:
            known = ", ".join(sorted(n for location in locations for n in location.names)[:10])
            raise CatalogError(f"no table is named {name!r}; the catalog has {known or 'none'}")
        chosen |= {location.location: location for location in found}
    return list(chosen.values())
