"""Presigning equals botocore's for every key, and verification refuses what was changed."""

import datetime
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import botocore.auth
import botocore.session
import pytest
from botocore.config import Config
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import StorageError
from headgate.storage.credentials import Credentials
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.keys import encode_key, encode_keys, relative_keys
from headgate.storage.sigv4 import PresignBatch, RequestRefused, verify_presigned

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"  # AWS's documented example
TOKEN = "FwoGZXIvYXdzE//+abc==" * 20
SESSION = botocore.session.Session()
NOW_MS = 1_700_000_000_000

AWKWARD = " %+=/.~#?&;:@\"'\\<>{}[]|^`*!$(),\n\té😀a0"

keys = st.one_of(
    st.text(alphabet=st.sampled_from(AWKWARD), min_size=1),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1),
    st.sampled_from(["//", "/lead", "a//b", "a/../b", "./a", "..", "trail/", "a%2Fb", "a+b c"]),
)
endpoints = st.sampled_from(
    [
        (None, None),
        (None, True),
        ("http://127.0.0.1:9000", None),
        ("http://localhost:9000", False),
        ("https://minio.example.com", False),
        ("https://minio.example.com:443", None),
        ("http://minio.example.com:80", None),
        ("https://minio.example.com/base/", None),
        ("http://[::1]:9000", True),
    ]
)
regions = st.sampled_from(["eu-west-3", "us-east-1", "cn-north-1", "us-gov-west-1"])
buckets = st.sampled_from(["bucket", "a-b.c-d", "abc", "1.2.3.4", "my--bucket", "a.b"])


@pytest.fixture(autouse=True, scope="module")
def _botocore_signs_in_python() -> Iterator[None]:
    """Where awscrt is installed botocore signs with it, and orders the parameters otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(botocore.auth.AUTH_TYPE_MAPS, "s3v4-query", botocore.auth.S3SigV4QueryAuth)
        yield


@cache
def botocore_client(
    region: str, url: str | None, path_style: bool | None, token: str | None
) -> Any:
    s3: Any = {"us_east_1_regional_endpoint": "regional"}
    if url is None and path_style is None:
        path_style = False  # botocore's own default presigns for the global host
    if path_style is not None:
        s3["addressing_style"] = "path" if path_style else "virtual"
    return SESSION.create_client(
        "s3",
        region_name=region,
        endpoint_url=url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        aws_session_token=token,
        config=Config(signature_version="s3v4", s3=s3),
    )


def signing_time_ms(url: str) -> int:
    stamp = dict(parse_qsl(urlsplit(url).query))["X-Amz-Date"]
    moment = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000)


@settings(max_examples=1500, deadline=None)
@given(
    key=keys,
    endpoint=endpoints,
    region=regions,
    bucket=buckets,
    token=st.sampled_from([None, TOKEN]),
    ttl_s=st.integers(1, 604800),
    method=st.sampled_from(["GET", "HEAD"]),
)
def test_urls_equal_botocores(
    key: str,
    endpoint: tuple[str | None, bool | None],
    region: str,
    bucket: str,
    token: str | None,
    ttl_s: int,
    method: str,
) -> None:
    url, path_style = endpoint
    client = botocore_client(region, url, path_style, token)
    expected = client.generate_presigned_url(
        "get_object" if method == "GET" else "head_object",
        Params={"Bucket": bucket, "Key": key},
        ExpiresIn=ttl_s,
    )
    batch = PresignBatch(
        Credentials(ACCESS_KEY, SECRET_KEY, token),
        S3Endpoint(region, url, path_style),
        bucket,
        now_ms=signing_time_ms(expected),
        ttl_s=ttl_s,
        method=method,
    )
    assert batch.url(key).decode() == expected
    assert batch.expires_at_ms == signing_time_ms(expected) + ttl_s * 1000


@settings(max_examples=500, deadline=None)
@given(st.lists(keys))
def test_a_batch_is_encoded_as_its_keys_are(batch: list[str]) -> None:
    assert encode_keys(batch) == [quote(key, safe="/~").encode() for key in batch]
    assert [encode_key(key) for key in batch] == encode_keys(batch)


def test_time_to_live_is_cut_to_what_can_hold() -> None:
    endpoint = S3Endpoint("eu-west-3")
    forever = Credentials(ACCESS_KEY, SECRET_KEY)
    ending = Credentials(ACCESS_KEY, SECRET_KEY, TOKEN, NOW_MS + 90_500)
    batch = PresignBatch(forever, endpoint, "b", now_ms=NOW_MS + 999, ttl_s=10**9)
    assert batch.expires_at_ms == NOW_MS + 604_800_000
    assert b"X-Amz-Expires=604800&" in batch.url("k")
    batch = PresignBatch(ending, endpoint, "b", now_ms=NOW_MS, ttl_s=3600)
    assert batch.expires_at_ms == NOW_MS + 90_000
    assert b"X-Amz-Expires=90&" in batch.url("k")
    with pytest.raises(StorageError):
        PresignBatch(ending, endpoint, "b", now_ms=NOW_MS + 90_000, ttl_s=3600)
    with pytest.raises(StorageError):
        PresignBatch(forever, endpoint, "b", now_ms=NOW_MS, ttl_s=0)


def test_an_endpoint_must_be_a_url() -> None:
    with pytest.raises(StorageError, match="not an http"):
        S3Endpoint("eu-west-3", "minio.example.com:9000").address("b")


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(alphabet=st.sampled_from("ab/%25309ACFe3\n é=:"), max_size=12),
            st.text(alphabet=st.characters(exclude_categories=["Cs"])).map(quote),
            st.sampled_from(["%25", "%253A", "%%32", "%0A", "%C3%A9", "%FF", "%", "a%2"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_log_paths_are_decoded_once(paths: list[str]) -> None:
    encoded = relative_keys(paths)
    if encoded is not None:
        assert encoded == [quote(unquote(path), safe="/~").encode() for path in paths]


def test_the_fast_path_takes_what_tables_hold() -> None:
    paths = ["p=2020-01-01%2000%253A00/part-0.parquet", "é/a%20b", "x=1/y+z&w"]
    assert relative_keys(paths) == [
        b"p%3D2020-01-01%2000%253A00/part-0.parquet",
        b"%C3%A9/a%20b",
        b"x%3D1/y%2Bz%26w",
    ]
    for absolute in ["/x", "file:/x", "FILE:///x", "s3://b/k", "%2Fx", "s3a:%2F%2Fb/k"]:
        assert relative_keys(["a", absolute, "b"]) is None
    assert relative_keys(["a:b", "t=10:30"]) == [b"a%3Ab", b"t%3D10%3A30"]
    assert relative_keys([]) == []


class TestVerification:
    """What `PresignBatch` signs is accepted; anything changed of it is not."""

    credentials = Credentials(ACCESS_KEY, SECRET_KEY, TOKEN)

    def url(self, key: str = "a b/é=1%", **changes: Any) -> str:
        arguments: dict[str, Any] = {"now_ms": NOW_MS, "ttl_s": 60, **changes}
        endpoint = S3Endpoint("local", "http://127.0.0.1:8080/storage", force_path_style=True)
        credentials = arguments.pop("credentials", self.credentials)
        return PresignBatch(credentials, endpoint, "bkt", **arguments).url(key).decode()

    def verify(self, url: str, method: str = "GET", now_ms: int = NOW_MS) -> None:
        parts = urlsplit(url)
        verify_presigned(
            method,
            parts.path.encode(),
            parts.query,
            {"host": parts.netloc}.get,
            self.credentials,
            "local",
            now_ms,
        )

    def refusal(self, url: str, **arguments: Any) -> tuple[int, str]:
        with pytest.raises(RequestRefused) as caught:
            self.verify(url, **arguments)
        assert SECRET_KEY not in caught.value.message
        return caught.value.status, caught.value.code

    @settings(max_examples=300, deadline=None)
    @given(key=keys.filter(lambda key: "\n" not in key and "\t" not in key))
    def test_every_key_verifies(self, key: str) -> None:
        self.verify(self.url(key))

    def test_another_spelling_of_the_same_url_verifies(self) -> None:
        url = self.url("p=1/a~b")
        assert "p%3D1" in url
        self.verify(url.replace("p%3D1", "p=1"))
        self.verify(url.replace("p%3D1", "p%3d1"))
        self.verify(url.replace("a~b", "a%7Eb"))
        head, _, query = url.partition("?")
        self.verify(f"{head}?{'&'.join(reversed(query.split('&')))}")

    def test_head_is_signed_as_head(self) -> None:
        self.verify(self.url(method="HEAD"), method="HEAD")
        mismatch = (403, "SignatureDoesNotMatch")
        assert self.refusal(self.url(), method="HEAD") == mismatch
        assert self.refusal(self.url(method="HEAD")) == mismatch

    def test_time(self) -> None:
        self.verify(self.url(), now_ms=NOW_MS + 59_999)
        assert self.refusal(self.url(), now_ms=NOW_MS + 60_000) == (403, "AccessDenied")
        self.verify(self.url(), now_ms=NOW_MS - 800_000)
        assert self.refusal(self.url(), now_ms=NOW_MS - 1_000_000) == (403, "AccessDenied")

    @pytest.mark.parametrize(
        ("old", "new", "status", "code"),
        [
            ("/bkt/", "/bkx/", 403, "SignatureDoesNotMatch"),
            ("%C3%A9", "e", 403, "SignatureDoesNotMatch"),
            ("127.0.0.1", "localhost", 403, "SignatureDoesNotMatch"),
            ("Expires=60", "Expires=600", 403, "SignatureDoesNotMatch"),
            ("&X-Amz-Signature=", "&X-Amz-Signature=0", 403, "SignatureDoesNotMatch"),
            ("&X-Amz-Signature=", "&extra=1&X-Amz-Signature=", 403, "SignatureDoesNotMatch"),
            ("?X-Amz", "?extra=1&X-Amz", 403, "SignatureDoesNotMatch"),
            ("SignedHeaders=host", "SignedHeaders=host%3Brange", 403, "SignatureDoesNotMatch"),
            (
                "SignedHeaders=host", "SignedHeaders=range", 400,
                "AuthorizationQueryParametersError",
            ),
            (ACCESS_KEY, "AKIAOTHER", 403, "InvalidAccessKeyId"),
            ("Security-Token=F", "Security-Token=G", 400, "InvalidToken"),
            ("Expires=60", "Expires=604801", 400, "AuthorizationQueryParametersError"),
            ("Expires=60", "Expires=-60", 400, "AuthorizationQueryParametersError"),
            ("Expires=60", "Expires=6²", 400, "AuthorizationQueryParametersError"),
            ("Expires=60&", "Expires&", 400, "AuthorizationQueryParametersError"),
            ("&X-Amz-Expires=60", "", 400, "AuthorizationQueryParametersError"),
            ("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1", 400, "AuthorizationQueryParametersError"),
            ("%2Flocal%2F", "%2Feu-west-3%2F", 400, "AuthorizationQueryParametersError"),
            ("%2Flocal%2Fs3%2Faws4_request", "", 400, "AuthorizationQueryParametersError"),
            ("X-Amz-Date=2023", "X-Amz-Date=yyyy", 400, "AuthorizationQueryParametersError"),
            ("X-Amz-Date=20231114T221320Z", "X-Amz-Date=20231114T22132Z", 400,
             "AuthorizationQueryParametersError"),
        ],
    )  # fmt: skip
    def test_tampering(self, old: str, new: str, status: int, code: str) -> None:
        url = self.url()
        assert old in url
        self.verify(url)
        assert self.refusal(url.replace(old, new, 1)) == (status, code)

    def test_unsigned(self) -> None:
        assert self.refusal("http://127.0.0.1:8080/storage/bkt/k") == (403, "AccessDenied")

    def test_wrong_secret(self) -> None:
        url = self.url(credentials=Credentials(ACCESS_KEY, "guess", TOKEN))
        assert self.refusal(url) == (403, "SignatureDoesNotMatch")
