"""Credentials for signing: AWS's default chain, without importing boto3 where it is not needed."""

import datetime
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from headgate.errors import StorageError

if TYPE_CHECKING:
    import boto3


@dataclass(frozen=True, slots=True)
class Credentials:
    """One set of keys; `expires_at_ms` is None where their end is not known."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at_ms: int | None = None


CredentialSource = Callable[[], Credentials]
"""Gives the credentials to use now; called for every request or batch, so it must be cheap."""


def chain_credentials() -> Credentials:
    """The credentials of boto3's default chain, refreshed by it when they near their expiry.

    The environment is the chain's first link, and the only one in Lambda: it is read here, so that
    boto3 (200 ms of import) is loaded only where another link has to answer.

    Raises StorageError where the chain ends without credentials.
    """
    found = environment_credentials(os.environ)
    return found if found is not None else _boto_credentials()


def random_credentials() -> Credentials:
    """Credentials that nobody else knows, for a process that signs for itself."""
    return Credentials("HEADGATELOCAL", secrets.token_urlsafe(32))


def environment_credentials(environ: Mapping[str, str]) -> Credentials | None:
    """The environment's credentials, or None; variables and rules as botocore's EnvProvider."""
    access_key = environ.get("AWS_ACCESS_KEY_ID")
    secret_key = environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        return None
    token = environ.get("AWS_SESSION_TOKEN") or environ.get("AWS_SECURITY_TOKEN") or None
    expiry = environ.get("AWS_CREDENTIAL_EXPIRATION")
    expires_at_ms = None
    if expiry:
        try:
            moment = datetime.datetime.fromisoformat(expiry)
        except ValueError as error:
            raise StorageError("AWS_CREDENTIAL_EXPIRATION is not an ISO 8601 time") from error
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        expires_at_ms = int(moment.timestamp() * 1000)
    return Credentials(access_key, secret_key, token, expires_at_ms)


def chain_region() -> str | None:
    """The region of boto3's configuration (the profile's, say), or None."""
    return _boto_session().region_name


@lru_cache(maxsize=1)
def _boto_session() -> "boto3.Session":
    import boto3

    return boto3.Session()


def _boto_credentials() -> Credentials:
    chain = _boto_session().get_credentials()
    frozen = None if chain is None else chain.get_frozen_credentials()
    if frozen is None or not frozen.access_key or not frozen.secret_key:
        raise StorageError(
            "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "a profile or a role"
        )
    # botocore has no public name for it; credentials that do not refresh lack the attribute.
    expiry = getattr(chain, "_expiry_time", None)
    expires_at_ms = int(expiry.timestamp() * 1000) if expiry is not None else None
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token, expires_at_ms)
