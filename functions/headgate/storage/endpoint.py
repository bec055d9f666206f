"""Where a bucket of S3-compatible storage answers: origin, Host header and path."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from headgate.errors import StorageError

# The DNS suffix of each AWS partition that has its own, by the prefix of its regions.
_SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
}
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """`origin` + `path` + `/` + encoded key is an object's URL; `host` is what its request signs.

    Without a trailing slash: `https://b.s3.eu-west-3.amazonaws.com` and an empty path, or
    `http://127.0.0.1:9000` and `/b`.
    """

    origin: str
    host: str
    path: str


@dataclass(frozen=True, slots=True)
class S3Endpoint:
    """S3 of a region, or anything that speaks its protocol at `url`; styles as boto3 chooses."""

    region: str
    url: str | None = None
    force_path_style: bool | None = None

    def virtual_host(self, bucket: str) -> bool:
        """Whether the bucket is addressed by host name.

        By default a custom endpoint gets path style, as with boto3; so does every name that is not
        one of a host, and over https a name with dots: certificates cover a single label.
        """
        path_style = self.force_path_style
        if path_style or (path_style is None and self.url is not None):
            return False
        labels = bucket.split(".")
        if not 3 <= len(bucket) <= 63 or not all(map(_LABEL.fullmatch, labels)):
            return False
        if self.url is None:
            return len(labels) == 1
        parts = urlsplit(self.url)
        if _is_ip_address(parts.hostname or "") or _is_ip_address(bucket):
            return False
        return len(labels) == 1 or parts.scheme == "http"

    def address(self, bucket: str) -> BucketAddress:
        """Where the bucket answers. Raises StorageError where the endpoint is no http(s) URL."""
        url = self.url if self.url is not None else f"https://s3.{self.region}.{self._suffix}"
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise StorageError(f"the S3 endpoint {url!r} is not an http or https URL")
        path = parts.path.rstrip("/")
        netloc = parts.netloc
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        if parts.port is not None and parts.port != _DEFAULT_PORTS[parts.scheme]:
            host = f"{host}:{parts.port}"
        if self.virtual_host(bucket):
            return BucketAddress(f"{parts.scheme}://{bucket}.{netloc}", f"{bucket}.{host}", path)
        return BucketAddress(f"{parts.scheme}://{netloc}", host, f"{path}/{bucket}")

    @property
    def _suffix(self) -> str:
        for prefix, suffix in _SUFFIXES.items():
            if self.region.startswith(prefix):
                return suffix
        return "amazonaws.com"


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
