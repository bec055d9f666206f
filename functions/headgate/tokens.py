"""Stateless signed tokens: listing, page and refresh tokens.

A token is base64url without padding of

    1 byte    format, 1
    32 bytes  HMAC-SHA256 over the format byte and the body
    the rest  body: JSON array [purpose, claims]

so it needs no storage, cannot be altered, and serves only the purpose it was issued for. The body
is signed, not encrypted: claims must hold nothing that the recipient may not read. Times in claims
are the issuer's to check.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import orjson

from headgate.errors import HeadgateError

_FORMAT = b"\x01"
_MAC_BYTES = 32
_BODY = len(_FORMAT) + _MAC_BYTES
MIN_SECRET_BYTES = 16


class TokenError(HeadgateError):
    """A token that cannot be used; callers answer with the protocol's message for their kind."""


class InvalidToken(TokenError):
    """Not a token that this server signed: malformed, altered, or signed with another secret."""


class WrongPurpose(TokenError):
    """A genuine token, issued for something else."""


class TokenSigner:
    """Issues and reads tokens under one secret; safe to share between threads."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        """Raises ValueError where `secret` is shorter than MIN_SECRET_BYTES."""
        if len(secret) < MIN_SECRET_BYTES:
            raise ValueError(f"the token secret needs at least {MIN_SECRET_BYTES} bytes")
        self._secret = secret

    def issue(self, purpose: str, claims: Mapping[str, Any]) -> str:
        """A token (ASCII, safe in URLs) that `read` gives back as `claims`, which must be JSON."""
        body = orjson.dumps([purpose, dict(claims)])
        return _encode(_FORMAT + self._mac(body) + body)

    def read(self, purpose: str, token: str) -> dict[str, Any]:
        """The claims of a token. Raises InvalidToken or WrongPurpose."""
        raw = _decode(token)
        if raw[:1] != _FORMAT or len(raw) <= _BODY:
            raise InvalidToken("not a token of a known format")
        body = raw[_BODY:]
        if not hmac.compare_digest(raw[len(_FORMAT) : _BODY], self._mac(body)):
            raise InvalidToken("the token's signature is wrong")
        issued_for, claims = orjson.loads(body)
        if issued_for != purpose:
            raise WrongPurpose(f"a token for {issued_for} cannot serve as one for {purpose}")
        return dict(claims)

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, _FORMAT + body, hashlib.sha256)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _decode(token: str) -> bytes:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (ValueError, binascii.Error) as error:
        raise InvalidToken("the token is not base64url") from error
    # The decoder skips foreign characters and the spare bits of the last one: only the spelling
    # that was issued is accepted.
    if _encode(raw) != token:
        raise InvalidToken("the token is not canonical base64url")
    return raw
