"""The recipients that the command line keeps: one file each, `recipients/NAME.yaml`.

A file of its own can be written anew without touching what people wrote elsewhere, and a grant or
a revocation is one small diff in git.
"""

import hashlib
import os
import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from headgate.catalog.times import instant_text
from headgate.errors import CatalogError
from headgate.model.sharing import Recipient, Token

FOLDER = "recipients"
TOKEN_BYTES = 32
_HEADER = (
    "# Written by `headgate recipient`, which writes it anew on every change: comments are lost.\n"
    "# It holds hashes of tokens, not tokens, and belongs in git.\n"
)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A bearer token that has just been made: the only place that ever holds the token itself."""

    secret: str
    token: Token

    def __repr__(self) -> str:
        return f"NewToken({self.token.sha256[:8]}…)"


def new_token(expires_at_ms: int | None) -> NewToken:
    """A random token of 256 bits and the hash that the catalog keeps."""
    secret = secrets.token_urlsafe(TOKEN_BYTES)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    return NewToken(secret, Token(digest, expires_at_ms=expires_at_ms))


def recipient_file(catalog: Path, name: str) -> Path:
    """Where the recipient's file is kept. Raises CatalogError where the catalog is one file."""
    if not catalog.is_dir():
        raise CatalogError(
            f"{catalog} is a single file, which this command does not rewrite: put it into a "
            "folder, and give the folder as the catalog"
        )
    return catalog / FOLDER / f"{name}.yaml"


def owned_file(catalog: Path, recipient: Recipient) -> Path:
    """The file that holds this recipient and nothing else.

    Raises CatalogError where the recipient is written somewhere that is not this tool's to change.
    """
    path = recipient_file(catalog, recipient.name)
    document = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    entries = document.get("recipients") if isinstance(document, dict) else None
    if (
        document is None
        or set(document) != {"recipients"}
        or not isinstance(entries, list)
        or [entry["name"] for entry in entries] != [recipient.name]
    ):
        raise CatalogError(
            f"the recipient {recipient.name!r} is written by hand: move it, alone, to {path} for "
            "this command to change it"
        )
    return path


def recipient_text(recipient: Recipient) -> str:
    """The recipient's file as YAML."""
    entry: dict[str, object] = {
        "name": recipient.name,
        "shares": "*" if recipient.shares is None else sorted(recipient.shares),
    }
    if recipient.comment is not None:
        entry["comment"] = recipient.comment
    entry["tokens"] = [
        {
            "sha256": token.sha256,
            **(
                {}
                if token.not_before_ms is None
                else {"notBefore": instant_text(token.not_before_ms)}
            ),
            **(
                {}
                if token.expires_at_ms is None
                else {"expires": instant_text(token.expires_at_ms)}
            ),
        }
        for token in recipient.tokens
    ]
    body = yaml.safe_dump({"recipients": [entry]}, sort_keys=False, allow_unicode=True)
    return _HEADER + body


def write_recipient(path: Path, recipient: Recipient) -> None:
    """Replaces the recipient's file as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, recipient_text(recipient), mode=0o644)


def rotated(recipient: Recipient, token: Token, now_ms: int, overlap_ms: int) -> Recipient:
    """With a new token, and the old ones ending after the overlap; expired ones are dropped."""
    last_ms = now_ms + overlap_ms
    kept = tuple(
        replace(
            old,
            expires_at_ms=last_ms if old.expires_at_ms is None else min(old.expires_at_ms, last_ms),
        )
        for old in recipient.tokens
        if old.expires_at_ms is None or old.expires_at_ms > now_ms
    )
    # An overlap of nothing, or a token that begins after it, leaves no moment at which to use it.
    usable = tuple(
        old
        for old in kept
        if old.expires_at_ms is not None and max(now_ms, old.not_before_ms or 0) < old.expires_at_ms
    )
    return replace(recipient, tokens=(*usable, token))


def write_private(path: Path, text: str, overwrite: bool) -> None:
    """Writes a file that only its owner can read.

    Raises FileExistsError where it exists and `overwrite` is not set.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if overwrite:
        _replace(path, text, mode=0o600)
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _replace(path: Path, text: str, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
