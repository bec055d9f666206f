"""The identity of a logical file: its canonical path and deletion vector.

Source: Delta protocol, "Action Reconciliation": the primary key of a file action is
(path, deletionVector.uniqueId). Delta compares paths after decoding and qualifying them.
"""

import hashlib
import re
from urllib.parse import unquote

KEY_BYTES = 16
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(//)?")


def canonical_path(path: str) -> str:
    """`path` as written in the log, decoded once, with one spelling for each absolute path.

    `file:/x`, `file:///x` and `/x` are one file; `s3a://` and `s3n://` are `s3://`.
    """
    decoded = unquote(path) if "%" in path else path
    match = _SCHEME.match(decoded)
    if match is None:
        return decoded
    scheme = match.group(1).lower()
    rest = decoded[match.end() :]
    if scheme == "file":
        return "/" + rest.lstrip("/")
    if match.group(2) is None:  # a relative name that merely holds a colon
        return decoded
    if scheme in ("s3a", "s3n"):
        scheme = "s3"
    return f"{scheme}://{rest}"


def deletion_vector_id(storage_type: str, path_or_inline: str, offset: int | None) -> str:
    """The protocol's uniqueId of a deletion vector."""
    suffix = "" if offset is None else f"@{offset}"
    return f"{storage_type}{path_or_inline}{suffix}"


def file_key(path: str, dv_id: str | None = None) -> bytes:
    """128 bits that name a logical file: MD5 of the canonical path and deletion vector id.

    Without a deletion vector this equals the file id of the parquet response format, for every
    path that is its own canonical form.
    """
    canonical = canonical_path(path)
    if dv_id is not None:
        canonical = f"{canonical}\0{dv_id}"
    return hashlib.md5(canonical.encode(), usedforsecurity=False).digest()
