"""Presigned URLs by AWS Signature Version 4, made at memory speed, and their verification.

Source: Amazon S3 API reference, "Authenticating Requests: Using Query Parameters (AWS Signature
Version 4)". The URLs equal those of botocore's S3SigV4QueryAuth byte for byte.
"""

import datetime
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from headgate.errors import StorageError
from headgate.storage.credentials import Credentials
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.keys import encode_key, encode_keys

MAX_TTL_S = 7 * 24 * 3600
_ALGORITHM = "AWS4-HMAC-SHA256"
_TIMESTAMP = "%Y%m%dT%H%M%SZ"
_SAFE = "-_.~"
_BLOCK = 64  # SHA-256's, in bytes
_SKEW_S = 15 * 60  # how far ahead a signer's clock may be, as S3 allows


class PresignBatch:
    """Signs many URLs of one bucket: all that does not depend on the key is computed once.

    An instance holds a signing key: make one for each batch, never keep it. Raises StorageError
    where `ttl_s` is not positive or the credentials have expired.
    """

    def __init__(
        self,
        credentials: Credentials,
        endpoint: S3Endpoint,
        bucket: str,
        *,
        now_ms: int,
        ttl_s: int,
        method: str = "GET",
        prefix: str = "",
    ) -> None:
        """`prefix` goes before every key as it is; `ttl_s` is cut to what can hold (7 days at most,
        and not past the credentials' own end).
        """
        now_s = now_ms // 1000
        ttl_s = min(ttl_s, MAX_TTL_S)
        if credentials.expires_at_ms is not None:
            ttl_s = min(ttl_s, credentials.expires_at_ms // 1000 - now_s)
        if ttl_s < 1:
            raise StorageError("cannot sign URLs: their time to live is over, or the credentials'")
        self.expires_at_ms = (now_s + ttl_s) * 1000
        """When the URLs end, in ms since the epoch."""

        stamp = datetime.datetime.fromtimestamp(now_s, datetime.UTC).strftime(_TIMESTAMP)
        scope = f"{stamp[:8]}/{endpoint.region}/s3/aws4_request"
        address = endpoint.address(bucket)
        query = (
            f"X-Amz-Algorithm={_ALGORITHM}"
            f"&X-Amz-Credential={quote(f'{credentials.access_key_id}/{scope}', safe=_SAFE)}"
            f"&X-Amz-Date={stamp}&X-Amz-Expires={ttl_s}"
        )
        token = ""
        if credentials.session_token is not None:
            token = f"&X-Amz-Security-Token={quote(credentials.session_token, safe=_SAFE)}"
        # The signature wants the parameters sorted; the URL has them in botocore's order.
        canonical_query = f"{query}{token}&X-Amz-SignedHeaders=host"
        url_query = f"{query}&X-Amz-SignedHeaders=host{token}"

        path = quote(address.path, safe="/~%").encode() + b"/" + encode_key(prefix)
        self._url_head = address.origin.encode() + path
        self._url_tail = f"?{url_query}&X-Amz-Signature=".encode()
        self._request_head = hashlib.sha256(method.encode() + b"\n" + path)
        self._request_tail = (
            f"\n{canonical_query}\nhost:{address.host}\n\nhost\nUNSIGNED-PAYLOAD".encode()
        )
        self._inner, self._outer = _hmac_states(_signing_key(credentials, scope))
        self._inner.update(f"{_ALGORITHM}\n{stamp}\n{scope}\n".encode())

    def url(self, key: str) -> bytes:
        """The URL of one key."""
        return self.sign_encoded((encode_key(key),))[0]

    def urls(self, keys: Sequence[str]) -> list[bytes]:
        """The URL of each key."""
        return self.sign_encoded(encode_keys(keys))

    def sign_encoded(self, paths: Sequence[bytes]) -> list[bytes]:
        """The URL of each key that is percent-encoded already, by `storage.keys`.

        ASCII, and free of characters that a JSON string would have to escape.
        """
        url_head, url_tail, request_tail = self._url_head, self._url_tail, self._request_tail
        request, inner, outer = self._request_head.copy, self._inner.copy, self._outer.copy
        signed = []
        for path in paths:
            canonical = request()
            canonical.update(path + request_tail)
            first = inner()
            first.update(canonical.hexdigest().encode())
            second = outer()
            second.update(first.digest())
            signed.append(b"%b%b%b%b" % (url_head, path, url_tail, second.hexdigest().encode()))
        return signed


class RequestRefused(StorageError):
    """A presigned request that must not be served; `status` and `code` are S3's."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def verify_presigned(
    method: str,
    raw_path: bytes,
    query: str,
    header: Callable[[str], str | None],
    credentials: Credentials,
    region: str,
    now_ms: int,
) -> None:
    """Raises RequestRefused unless the request is one that `credentials` signed and still stands.

    `raw_path` and `query` as they were received; `header` gives a header by its lower-case name.
    Clients may write the same URL with other escapes: both sides are decoded and encoded anew,
    as S3 does.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    parameters = dict(reversed(pairs))
    if not any(name.startswith("X-Amz-") for name in parameters):
        raise RequestRefused(403, "AccessDenied", "Access Denied")
    stamp, expires_s, given_scope = _checked_parameters(parameters)
    access_key, *scope_parts = given_scope

    signed_s = _checked_date(stamp)
    now_s = now_ms / 1000
    if signed_s > now_s + _SKEW_S:
        raise RequestRefused(403, "AccessDenied", "Request is not yet valid")
    if signed_s + expires_s <= now_s:
        raise RequestRefused(403, "AccessDenied", "Request has expired")
    if access_key != credentials.access_key_id:
        raise RequestRefused(
            403,
            "InvalidAccessKeyId",
            "The AWS Access Key Id you provided does not exist in our records.",
        )
    if scope_parts != [stamp[:8], region, "s3", "aws4_request"]:
        raise _bad_parameters("Error parsing the X-Amz-Credential parameter; it has a wrong scope")
    if parameters.get("X-Amz-Security-Token") != credentials.session_token:
        raise RequestRefused(
            400, "InvalidToken", "The provided token is malformed or otherwise invalid."
        )

    signed_headers = parameters["X-Amz-SignedHeaders"].split(";")
    if "host" not in signed_headers:
        raise _bad_parameters("X-Amz-SignedHeaders must name the host header")
    canonical_query = "&".join(
        f"{name}={value}"
        for name, value in sorted(
            (quote(name, safe=_SAFE), quote(value, safe=_SAFE))
            for name, value in pairs
            if name != "X-Amz-Signature"
        )
    )
    canonical = "\n".join(
        [
            method,
            quote(unquote_to_bytes(raw_path), safe="/~"),
            canonical_query,
            *(f"{name}:{' '.join((header(name) or '').split())}" for name in signed_headers),
            "",
            ";".join(signed_headers),
            "UNSIGNED-PAYLOAD",
        ]
    )
    scope = "/".join(scope_parts)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = f"{_ALGORITHM}\n{stamp}\n{scope}\n{digest}"
    expected = hmac.digest(_signing_key(credentials, scope), to_sign.encode(), "sha256").hex()
    if not hmac.compare_digest(expected.encode(), parameters["X-Amz-Signature"].encode()):
        raise RequestRefused(
            403,
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. "
            "Check your key and signing method.",
        )


def _checked_parameters(parameters: Mapping[str, str]) -> tuple[str, int, list[str]]:
    """Date, seconds to live and the parts of the credential (key, then scope)."""
    names = ("Algorithm", "Credential", "Signature", "Date", "SignedHeaders", "Expires")
    if any(f"X-Amz-{name}" not in parameters for name in names):
        raise _bad_parameters(
            "Query-string authentication version 4 requires the X-Amz-Algorithm, "
            "X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and "
            "X-Amz-Expires parameters."
        )
    if parameters["X-Amz-Algorithm"] != _ALGORITHM:
        raise _bad_parameters(f'X-Amz-Algorithm only supports "{_ALGORITHM}"')
    expires = parameters["X-Amz-Expires"]
    if not (expires.isascii() and expires.isdigit()):
        if expires.startswith("-") and expires[1:].isdigit():
            raise _bad_parameters("X-Amz-Expires must be non-negative")
        raise _bad_parameters("X-Amz-Expires should be a number")
    if len(expires) > len(str(MAX_TTL_S)) or int(expires) > MAX_TTL_S:
        raise _bad_parameters(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given "
            f"X-Amz-Expires must be less than {MAX_TTL_S} seconds"
        )
    # The scope has four parts; an access key of a foreign service may hold slashes of its own.
    credential = parameters["X-Amz-Credential"].rsplit("/", 4)
    if len(credential) != 5:
        raise _bad_parameters(
            "Error parsing the X-Amz-Credential parameter; the Credential is mal-formed; "
            'expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".'
        )
    return parameters["X-Amz-Date"], int(expires), credential


def _checked_date(stamp: str) -> float:
    """Seconds since the epoch of an X-Amz-Date."""
    try:
        moment = datetime.datetime.strptime(stamp, _TIMESTAMP)
    except ValueError:
        moment = None
    if moment is None or len(stamp) != len("20130524T000000Z"):
        raise _bad_parameters(
            "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\""
        )
    return moment.replace(tzinfo=datetime.UTC).timestamp()


def _bad_parameters(message: str) -> RequestRefused:
    return RequestRefused(400, "AuthorizationQueryParametersError", message)


def _signing_key(credentials: Credentials, scope: str) -> bytes:
    key = f"AWS4{credentials.secret_access_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _hmac_states(key: bytes) -> "tuple[hashlib._Hash, hashlib._Hash]":
    """HMAC's two hashes after the key (RFC 2104): copying them is faster than any HMAC object."""
    padded = key.ljust(_BLOCK, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
    return inner, outer
