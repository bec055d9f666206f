"""Profile files: what a recipient's client connects with.

Version 1, which every client reads (the Python client refuses a bearer profile of version 2).
Source: Delta Sharing protocol, "Profile File Format".
"""

import json
import os
from pathlib import Path

from headgate.catalog.recipient_files import NewToken, write_private
from headgate.catalog.times import instant_text
from headgate.errors import HeadgateError

LOCAL_ENDPOINT = "http://localhost:8080/delta-sharing"


def profile_text(endpoint: str, token: NewToken) -> str:
    """The profile as JSON; `expirationTime` only where the token expires."""
    profile: dict[str, object] = {
        "shareCredentialsVersion": 1,
        "endpoint": endpoint,
        "bearerToken": token.secret,
    }
    if token.token.expires_at_ms is not None:
        profile["expirationTime"] = instant_text(token.token.expires_at_ms)
    return json.dumps(profile, indent=2) + "\n"


def check_endpoint(endpoint: str) -> str:
    """The endpoint as profiles hold it. Raises HeadgateError where it is not an HTTP URL."""
    if not endpoint.startswith(("https://", "http://")):
        raise HeadgateError(
            f"the endpoint {endpoint!r} is not a URL: write it whole, for example "
            "https://example.com/delta-sharing"
        )
    return endpoint.rstrip("/")


def endpoint_of(path: Path) -> str | None:
    """The endpoint that a profile file names; None where there is no such file."""
    try:
        endpoint = json.loads(path.read_text(encoding="utf-8"))["endpoint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return endpoint if isinstance(endpoint, str) else None


def write_profile(path: Path, endpoint: str, token: NewToken, force: bool) -> None:
    """Writes the profile, readable by its owner alone.

    Raises HeadgateError where the file exists and `force` is not set, or cannot be written.
    """
    try:
        write_private(path, profile_text(endpoint, token), overwrite=force)
    except FileExistsError:
        raise HeadgateError(
            f"{path} exists: name another file with --profile, or replace it with --force"
        ) from None
    except OSError as error:
        raise HeadgateError(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from error
