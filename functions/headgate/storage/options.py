"""How to reach object storage, and what the environment sets of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from headgate.errors import StorageError
from headgate.storage.buckets import LocalBuckets
from headgate.storage.credentials import CredentialSource, chain_credentials

_BOOLEANS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


@dataclass(frozen=True, slots=True)
class LocalEndpoint:
    """The server that answers signed URLs of local files (`headgate.local.objects`).

    `url` is where it is mounted, for example `http://127.0.0.1:8080/storage`. `buckets` and
    `credentials` are the very ones that the endpoint was given.
    """

    url: str
    credentials: CredentialSource
    buckets: LocalBuckets


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Region and endpoint of S3-compatible storage, and who answers for local files, if anyone.

    `region` None: the region of boto3's configuration, else `us-east-1`. `endpoint_url` None: AWS
    itself; plain http is used where it says so, and nowhere else. `force_path_style` None: path
    style at a custom endpoint, virtual-host style at AWS, as boto3 chooses. `credentials` is asked
    before each batch of signatures.
    """

    region: str | None = None
    endpoint_url: str | None = None
    force_path_style: bool | None = None
    credentials: CredentialSource = chain_credentials
    local_endpoint: LocalEndpoint | None = None

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        local_endpoint: LocalEndpoint | None = None,
    ) -> "StorageOptions":
        """AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, and
        HEADGATE_S3_PATH_STYLE (true or false); credentials from the default chain.

        Raises StorageError where HEADGATE_S3_PATH_STYLE is neither.
        """
        env = os.environ if environ is None else environ
        path_style = env.get("HEADGATE_S3_PATH_STYLE", "").strip().lower()
        if path_style and path_style not in _BOOLEANS:
            raise StorageError(f"HEADGATE_S3_PATH_STYLE is {path_style!r}: set true or false")
        return cls(
            region=env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or None,
            endpoint_url=env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or None,
            force_path_style=_BOOLEANS.get(path_style),
            local_endpoint=local_endpoint,
        )
