"""Paths of the log to object keys to URL paths, a batch at a time.

Delta writes file paths URL-encoded (Delta protocol, "Add File and Remove File"): a key is the path
decoded once. A URL holds the key percent-encoded as SigV4 asks (RFC 3986: all but unreserved
characters and `/`). Both steps work on the batch joined into one string, since a few passes in C
over it cost a tenth of a call of `urllib.parse` for each path.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_MAYBE_ABSOLUTE = re.compile(r"^(?:/|[A-Za-z][A-Za-z0-9+.-]*://|file:)", re.MULTILINE | re.I)


def encode_key(key: str) -> bytes:
    """One key as the path of a URL."""
    return quote(key, safe="/~").encode()


def encode_keys(keys: Sequence[str]) -> list[bytes]:
    """Each key as the path of a URL: ASCII, equal to `encode_key` of each."""
    if not keys:
        return []
    joined = "\n".join(keys)
    if joined.count("\n") != len(keys) - 1:
        return [encode_key(key) for key in keys]
    return _encode_joined(joined.encode()).split(b"\n")


def _encode_joined(joined: bytes) -> bytes:
    unsafe = set(joined.translate(None, _UNRESERVED + b"\n"))
    if 0x25 in unsafe:  # first, for the escapes hold this character themselves
        joined = joined.replace(b"%", b"%25")
        unsafe.remove(0x25)
    for byte in unsafe:
        joined = joined.replace(bytes((byte,)), b"%%%02X" % byte)
    return joined


def relative_keys(paths: Sequence[str]) -> list[bytes] | None:
    """The URL path of each path of the log, or None where any of them may be absolute."""
    if not paths:
        return []
    joined = _decode_joined(paths)
    if joined is None or is_absolute(joined):
        return None
    return _encode_joined(joined.encode()).split(b"\n")


def is_absolute(decoded: str) -> bool:
    """Whether a decoded path (or any line of several) is, or looks, absolute."""
    if ":" not in decoded and "\n/" not in decoded:
        return decoded.startswith("/")
    return _MAYBE_ABSOLUTE.search(decoded) is not None


def split_scheme(decoded: str) -> tuple[str | None, str]:
    """Scheme and rest of a decoded path: (`s3`, `bucket/key`), (`file`, `/x`), (None, relative).

    `s3a` and `s3n` are `s3`; a path that starts with `/` has no scheme and keeps its slash. A
    relative name may hold a colon: only `file:` needs no `//` after it.
    """
    match = _SCHEME.match(decoded)
    if match is None:
        return None, decoded
    scheme = match.group(1).lower()
    rest = decoded[match.end() :]
    if scheme == "file":
        return scheme, "/" + rest.lstrip("/")
    if match.group(2) is None:
        return None, decoded
    return ("s3" if scheme in ("s3a", "s3n") else scheme), rest


def _decode_joined(paths: Sequence[str]) -> str | None:
    """The decoded paths, one a line; None where only path by path gives the right answer."""
    joined = "\n".join(paths)
    if joined.count("\n") != len(paths) - 1:
        return None
    if "%" not in joined:
        return joined
    raw = joined.encode()
    escapes = _ESCAPE.findall(raw)
    distinct = set(escapes)
    # A stray `%` could join with decoded characters to an escape that was not there, and an
    # escaped line feed would split a path.
    if raw.count(b"%") != len(escapes) or b"%0A" in distinct or b"%0a" in distinct:
        return None
    for escape in distinct - {b"%25"}:
        raw = raw.replace(escape, bytes((int(escape[1:], 16),)))
    raw = raw.replace(b"%25", b"%")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
