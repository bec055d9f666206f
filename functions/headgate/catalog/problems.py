"""What is wrong with a catalog, and where: collected first, then reported together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headgate.errors import CatalogError

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value, from the root of its file."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: the message says what is wrong and what to do. `line` counts from 1."""

    file: Path
    message: str
    place: Place = ()
    line: int | None = None

    def __str__(self) -> str:
        where = str(self.file) if self.line is None else f"{self.file}:{self.line}"
        place = place_text(self.place)
        return f"{where}: {place}: {self.message}" if place else f"{where}: {self.message}"


def place_text(place: Place) -> str:
    """For example `shares[0].schemas[1].tables[2].location`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def catalog_error(problems: Sequence[Problem]) -> CatalogError:
    """One error that lists every problem, one a line."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    listed = "\n".join(f"  {problem}" for problem in problems)
    return CatalogError(f"{count} in the catalog:\n{listed}")
