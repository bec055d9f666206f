"""`headgate catalog`: work on the files that say what is shared and with whom."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headgate.catalog.catalog import Catalog

SOON_MS = 14 * 86_400_000

app = typer.Typer(no_args_is_help=True, help="Check the files that say what is shared.")

CatalogArgument = Annotated[
    Path,
    typer.Argument(
        help="Folder of YAML files, or one file; a reference-server file works too.",
        envvar="HEADGATE_CATALOG",
    ),
]


@app.callback()
def catalog() -> None:
    """Check the files that say what is shared."""


@app.command()
def check(path: CatalogArgument = Path("catalog")) -> None:
    """Check that a catalog is valid.

    Prints what it shares and what may be an oversight, such as a share that nobody is granted.
    Where it is not valid, lists every problem with its file, line and remedy, and exits with 1.

    Example: `headgate catalog check catalog/`
    """
    from headgate.catalog.loader import load_catalog

    loaded = load_catalog(path)
    typer.secho("✓ ", fg=typer.colors.GREEN, nl=False)
    typer.echo(f"{path} is valid: {_counts(loaded)}")
    for remark in remarks(loaded, time.time_ns() // 1_000_000):
        typer.secho("! ", fg=typer.colors.YELLOW, nl=False)
        typer.echo(remark)


def remarks(loaded: "Catalog", now_ms: int) -> list[str]:
    """What is valid and yet may not be meant."""
    from headgate.catalog.times import instant_text

    found: list[str] = []
    for share in loaded.shares:
        if not any(recipient.granted(share.name) for recipient in loaded.recipients):
            found.append(
                f"no recipient is granted the share {share.name!r}: "
                f"headgate recipient add NAME --shares {share.name}"
            )
        if not any(schema.tables for schema in share.schemas):
            found.append(f"the share {share.name!r} holds no table")
    for recipient in loaded.recipients:
        ends = [
            token.expires_at_ms
            for token in recipient.tokens
            if token.expires_at_ms is None or token.expires_at_ms > now_ms
        ]
        if not ends:
            found.append(
                f"the recipient {recipient.name!r} has no valid token: "
                f"headgate recipient rotate {recipient.name}"
            )
        elif None not in ends:
            last_ms = max(end for end in ends if end is not None)
            if last_ms <= now_ms + SOON_MS:
                found.append(
                    f"the last token of {recipient.name!r} expires at {instant_text(last_ms)}: "
                    f"headgate recipient rotate {recipient.name}"
                )
    return found


def _counts(loaded: "Catalog") -> str:
    schemas = sum(len(share.schemas) for share in loaded.shares)
    tables = sum(1 for _ in loaded.tables())
    return ", ".join(
        f"{count} {noun}" + ("" if count == 1 else "s")
        for count, noun in (
            (len(loaded.shares), "share"),
            (schemas, "schema"),
            (tables, "table"),
            (len(loaded.recipients), "recipient"),
        )
    )
