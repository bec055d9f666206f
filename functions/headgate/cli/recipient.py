"""`headgate recipient`: who may read, and the tokens they hold."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.catalog.catalog import Catalog
    from headgate.catalog.recipient_files import NewToken
    from headgate.model.sharing import Recipient, Token

MIN_HASH_PREFIX = 4

app = typer.Typer(
    no_args_is_help=True,
    help="Add recipients, rotate and revoke their tokens.",
    epilog="The catalog keeps hashes only: a token exists in the profile file and nowhere else.",
)

CatalogOption = Annotated[
    Path, typer.Option("--catalog", help="Folder of the catalog.", envvar="HEADGATE_CATALOG")
]
NameArgument = Annotated[str, typer.Argument(help="Name of the recipient.", show_default=False)]
ExpiresOption = Annotated[
    str,
    typer.Option(help="When the new token expires: 90d, 1y, 2027-01-31, a full time, or never."),
]
EndpointOption = Annotated[
    str | None,
    typer.Option(
        help="Public URL of the server, for the profile file.",
        envvar="HEADGATE_ENDPOINT",
        show_default="that of the profile file replaced, or http://localhost:8080/delta-sharing",
    ),
]
ProfileOption = Annotated[
    Path | None, typer.Option(help="Profile file to write.", show_default="NAME.share")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the profile file.")]
ShowOption = Annotated[
    bool, typer.Option("--show-token", help="Print the token as well as writing the profile.")
]


@app.callback()
def recipient() -> None:
    """Add recipients, rotate and revoke their tokens."""


@app.command()
def add(
    name: NameArgument,
    shares: Annotated[
        str, typer.Option(help="Names of shares to grant, with commas between, or '*' for all.")
    ],
    expires: ExpiresOption = "1y",
    endpoint: EndpointOption = None,
    profile: ProfileOption = None,
    comment: Annotated[str | None, typer.Option(help="A note kept in the catalog.")] = None,
    catalog: CatalogOption = Path("catalog"),
    force: ForceOption = False,
    show_token: ShowOption = False,
) -> None:
    """Add a recipient and write the profile file to send to them.

    Makes a random token, keeps its hash in `catalog/recipients/NAME.yaml` (commit that), and writes
    the token into the profile file (send that, over a safe channel, and do not commit it).

    Example: `headgate recipient add acme --shares sales --expires 90d --endpoint https://…`
    """
    from headgate.catalog.loader import load_catalog
    from headgate.catalog.recipient_files import recipient_file
    from headgate.model.sharing import Recipient

    loaded = load_catalog(catalog)
    _check_name(name)
    if any(known.name.lower() == name.lower() for known in loaded.recipients):
        raise HeadgateError(
            f"there is a recipient named {name!r}: give them a new token with "
            f"`headgate recipient rotate {name}`"
        )
    path = recipient_file(catalog, name)
    if path.exists():
        raise HeadgateError(f"{path} exists: rename or remove it")
    made = _new_token(expires)
    added = Recipient(name, _grants(loaded, shares), (made.token,), comment)
    _commit(path, added, made, profile, endpoint, force, show_token)


@app.command()
def rotate(
    name: NameArgument,
    overlap: Annotated[
        str, typer.Option(help="How long the old tokens stay valid: 7d, 12h, 0d for not at all.")
    ] = "7d",
    expires: ExpiresOption = "1y",
    endpoint: EndpointOption = None,
    profile: ProfileOption = None,
    catalog: CatalogOption = Path("catalog"),
    force: ForceOption = False,
    show_token: ShowOption = False,
) -> None:
    """Give a recipient a new token; the old ones expire after an overlap.

    Example: `headgate recipient rotate acme --overlap 7d --force`
    """
    from headgate.catalog.recipient_files import owned_file, rotated
    from headgate.catalog.times import duration_ms

    found = _find(catalog, name)
    path = owned_file(catalog, found)
    made = _new_token(expires)
    try:
        overlap_ms = duration_ms(overlap)
    except ValueError as error:
        raise HeadgateError(f"--overlap: {error}") from None
    changed = rotated(found, made.token, _now_ms(), overlap_ms)
    _commit(path, changed, made, profile, endpoint, force, show_token)


@app.command()
def revoke(
    name: NameArgument,
    token: Annotated[
        str | None,
        typer.Option(
            help="Revoke only the token whose hash begins so (see `headgate recipient list`).",
            show_default="every token",
        ),
    ] = None,
    catalog: CatalogOption = Path("catalog"),
) -> None:
    """Take a recipient's tokens away.

    The recipient and the grants stay in the catalog; `rotate` gives a new token. Takes effect on a
    deployed server when the catalog is published.

    Example: `headgate recipient revoke acme --token 3f9a2c`
    """
    from headgate.catalog.recipient_files import owned_file, write_recipient

    found = _find(catalog, name)
    path = owned_file(catalog, found)
    gone = found.tokens if token is None else (_by_prefix(found, token),)
    kept = tuple(held for held in found.tokens if held not in gone)
    write_recipient(path, replace(found, tokens=kept))
    count = "1 token" if len(gone) == 1 else f"{len(gone)} tokens"
    _done(f"revoked {count} of {found.name!r}; {len(kept)} left. Commit {path}.")


@app.command(name="list")
def list_recipients(catalog: CatalogOption = Path("catalog")) -> None:
    """Show recipients, what they are granted, and when their tokens are valid."""
    from rich.console import Console
    from rich.table import Table as Grid

    from headgate.catalog.loader import load_catalog

    loaded = load_catalog(catalog)
    grid = Grid("recipient", "shares", "token (hash)", "validity", box=None, pad_edge=False)
    for entry in sorted(loaded.recipients, key=lambda known: known.name.lower()):
        granted = "all" if entry.shares is None else ", ".join(sorted(entry.shares)) or "none"
        hashes = "\n".join(held.sha256[:12] for held in entry.tokens) or "none"
        validity = "\n".join(_validity(held, _now_ms()) for held in entry.tokens)
        grid.add_row(entry.name, granted, hashes, validity)
    Console().print(grid)


def _commit(
    path: Path,
    changed: "Recipient",
    made: "NewToken",
    profile: Path | None,
    endpoint: str | None,
    force: bool,
    show_token: bool,
) -> None:
    """Writes the profile, then the catalog: a failure leaves no hash whose token is lost."""
    from headgate.catalog.recipient_files import write_recipient
    from headgate.catalog.times import instant_text
    from headgate.cli.profiles import (
        LOCAL_ENDPOINT,
        check_endpoint,
        endpoint_of,
        write_profile,
    )

    target = profile or Path(f"{changed.name}.share")
    endpoint = endpoint or endpoint_of(target)
    write_profile(target, check_endpoint(endpoint or LOCAL_ENDPOINT), made, force)
    write_recipient(path, changed)
    expiry = made.token.expires_at_ms
    until = "never expires" if expiry is None else f"expires {instant_text(expiry)}"
    _done(f"{changed.name!r} has a new token ({made.token.sha256[:12]}), which {until}.")
    typer.echo(f"  Commit {path}.")
    typer.echo(f"  Send {target} to the recipient safely; do not commit it.")
    if endpoint is None:
        typer.echo(f"  The profile names {LOCAL_ENDPOINT}: give --endpoint for a deployed server.")
    if show_token:
        typer.echo(made.secret)


def _check_name(name: str) -> None:
    import re

    from headgate.catalog.validation import schema

    rule = schema()["$defs"]["recipient"]["properties"]["name"]
    if re.match(rule["pattern"], name) is None:
        raise HeadgateError(f"the name {name!r} {rule['errorMessage']}")


def _find(catalog: Path, name: str) -> "Recipient":
    from headgate.catalog.loader import load_catalog

    for known in load_catalog(catalog).recipients:
        if known.name.lower() == name.lower():
            return known
    raise HeadgateError(f"there is no recipient named {name!r}: see `headgate recipient list`")


def _grants(loaded: "Catalog", shares: str) -> frozenset[str] | None:
    if shares.strip() == "*":
        return None
    names = [name.strip() for name in shares.split(",") if name.strip()]
    known = {share.name.lower(): share.name for share in loaded.shares}
    unknown = [name for name in names if name.lower() not in known]
    if unknown or not names:
        wrong = f"there is no share named {unknown[0]!r}" if unknown else "no share is named"
        raise HeadgateError(f"{wrong}: the catalog has {', '.join(sorted(known.values()))}")
    return frozenset(name.lower() for name in names)


def _new_token(expires: str) -> "NewToken":
    from headgate.catalog.recipient_files import new_token
    from headgate.catalog.times import duration_ms, instant_ms

    now_ms = _now_ms()
    if expires == "never":
        return new_token(None)
    try:
        # Dates begin with four digits and a dash; durations hold no dash.
        at_ms = instant_ms(expires) if "-" in expires else now_ms + duration_ms(expires)
    except ValueError as error:
        raise HeadgateError(f"--expires: {error}") from None
    if at_ms <= now_ms:
        raise HeadgateError(f"--expires: {expires} is not in the future")
    return new_token(at_ms // 1000 * 1000)  # files hold whole seconds


def _by_prefix(found: "Recipient", prefix: str) -> "Token":
    if len(prefix) < MIN_HASH_PREFIX:
        raise HeadgateError(f"--token: give at least {MIN_HASH_PREFIX} digits of the hash")
    matching = [held for held in found.tokens if held.sha256.startswith(prefix.lower())]
    if len(matching) != 1:
        held = ", ".join(token.sha256[:12] for token in found.tokens) or "none"
        many = "several tokens" if matching else "no token"
        raise HeadgateError(f"--token: {prefix!r} names {many} of {found.name!r}, of {held}")
    return matching[0]


def _validity(token: "Token", now_ms: int) -> str:
    from headgate.catalog.times import instant_text

    if token.expires_at_ms is not None and token.expires_at_ms <= now_ms:
        return f"expired {instant_text(token.expires_at_ms)}"
    until = "" if token.expires_at_ms is None else f"until {instant_text(token.expires_at_ms)}"
    if token.not_before_ms is not None and token.not_before_ms > now_ms:
        return f"from {instant_text(token.not_before_ms)} {until}".strip()
    return until or "no expiry"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _done(text: str) -> None:
    typer.secho("✓ ", fg=typer.colors.GREEN, nl=False)
    typer.echo(text)
