"""Signed URLs fetch the very objects that the log names, and nothing else."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import httpx
import pytest

from headgate.errors import StorageError
from headgate.storage.buckets import LocalBuckets
from headgate.storage.credentials import Credentials, random_credentials
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.locate import StorageOptions, open_signer, open_store
from headgate.storage.options import LocalEndpoint
from headgate.storage.signers import LocalUrlSigner, S3UrlSigner
from headgate.storage.sigv4 import PresignBatch
from tests.servers import S3Server

LOG_PATHS = [
    "part-0.parquet",
    "p=1/part-1.parquet",
    "p=2020-01-01%2000%253A00%253A00/part-2.parquet",
    "p=%25C3%25A9/é/a+b&c.parquet",
    "q=100%2525/%23hash%3Fquery",
]


def test_s3_answers_what_was_signed(s3_server: S3Server) -> None:
    bucket = s3_server.new_bucket("signed")
    other = s3_server.new_bucket("cloned-from")
    root = f"s3://{bucket}/ta ble/x%20y"
    for location, keys in {
        root: [unquote(path) for path in LOG_PATHS],
        f"s3://{other}": ["a b//c", "plain"],
    }.items():
        store = open_store(location, s3_server.options)
        for key in keys:
            store.put(key, key.encode())
    paths = [*LOG_PATHS, f"s3a://{other}/a%20b//c", f"s3://{other}/plain"]
    for server in (s3_server, s3_server.temporary()):
        urls, expires_at_ms = open_signer(root, server.options).sign(paths, 600)
        assert abs(expires_at_ms - (time.time() + 600) * 1000) < 5_000
        for path, url in zip(paths, urls, strict=True):
            answer = httpx.get(url.decode())
            assert answer.status_code == 200, answer.text
            assert answer.text == unquote(path).removeprefix(f"s3a://{other}/").removeprefix(
                f"s3://{other}/"
            )


def test_s3_refuses_the_tampered_and_the_expired(s3_server: S3Server) -> None:
    bucket = s3_server.new_bucket("refused")
    store = open_store(f"s3://{bucket}", s3_server.options)
    store.put("a", b"1")
    store.put("b", b"2")
    for server in (s3_server, s3_server.temporary()):
        endpoint = S3Endpoint(server.region, server.endpoint_url)
        now_ms = int(time.time() * 1000)
        url = (
            PresignBatch(server.credentials, endpoint, bucket, now_ms=now_ms, ttl_s=60)
            .url("a")
            .decode()
        )
        assert httpx.get(url).text == "1"
        assert httpx.head(url).status_code == 403
        for old, new in [
            ("/a?", "/b?"),
            ("Expires=60", "Expires=61"),
            ("Signature=", "Signature=0"),
        ]:
            refused = httpx.get(url.replace(old, new))
            assert refused.status_code == 403
            assert "SignatureDoesNotMatch" in refused.text
        expired = (
            PresignBatch(server.credentials, endpoint, bucket, now_ms=now_ms - 61_000, ttl_s=60)
            .url("a")
            .decode()
        )
        answer = httpx.get(expired)
        assert answer.status_code == 403
        assert "Request has expired" in answer.text


def test_the_store_signs_its_requests(s3_server: S3Server) -> None:
    bucket = s3_server.new_bucket("strict")
    wrong = Credentials(s3_server.credentials.access_key_id, "guess")
    options = StorageOptions(s3_server.region, s3_server.endpoint_url, credentials=lambda: wrong)
    for prefix in ("", "/odd//prefix"):
        store = open_store(f"s3://{bucket}{prefix}", options)
        with pytest.raises(StorageError, match="storage failed"):
            store.put("a", b"1")
        with pytest.raises(StorageError, match="storage failed"):
            list(store.list())
    with_token = open_store(f"s3://{bucket}", s3_server.temporary().options)
    with_token.put("a", b"1")
    assert with_token.get("a") == b"1"


def s3_signer(prefix: str = "root") -> S3UrlSigner:
    return S3UrlSigner(
        "bucket",
        prefix,
        S3Endpoint("eu-west-3"),
        lambda: Credentials("AKIA", "secret", "tok/en+=="),
    )


def path_of(url: bytes) -> str:
    return urlsplit(url.decode()).path


def test_s3_paths_find_their_keys() -> None:
    places = {
        "a/b": ("bucket", "/root/a/b"),
        "a%2Fb": ("bucket", "/root/a/b"),
        "/abs/x": ("bucket", "/abs/x"),
        "s3n://other/k%20k": ("other", "/k%20k"),
        "t=1:2/x": ("bucket", "/root/t%3D1%3A2/x"),
        "n:x": ("bucket", "/root/n%3Ax"),
    }
    for paths in ([path] for path in places):
        urls, _ = s3_signer().sign(paths, 60)
        bucket, path = places[paths[0]]
        assert path_of(urls[0]) == path
        assert urls[0].startswith(f"https://{bucket}.s3.eu-west-3.amazonaws.com/".encode())
    together, _ = s3_signer().sign(list(places), 60)
    assert [path_of(url) for url in together] == [path for _, path in places.values()]
    assert path_of(s3_signer("").sign(["x"], 60)[0][0]) == "/x"
    assert s3_signer().sign([], 60)[0] == []


@pytest.mark.parametrize("path", ["file:///etc/passwd", "gs://b/k", "s3://b", "s3:///k"])
def test_s3_signs_no_other_paths(path: str) -> None:
    with pytest.raises(StorageError, match="cannot sign"):
        s3_signer().sign(["a", path], 60)


@pytest.fixture
def local() -> Callable[[Path], LocalUrlSigner]:
    endpoint = LocalEndpoint("http://127.0.0.1:8080/storage", random_credentials, LocalBuckets())
    return lambda root: LocalUrlSigner(root, endpoint)


def test_urls_go_into_json_as_they_are(local: Callable[[Path], LocalUrlSigner]) -> None:
    awkward = [quote("".join(map(chr, [*range(32, 1000), 0x2028, 0x1F600]))), 'a"b\\c', "é\u2028"]
    for signer in (s3_signer(), local(Path("/srv/t"))):
        for url in signer.sign(awkward, 60)[0]:
            assert json.dumps(url.decode()) == f'"{url.decode()}"'


def test_local_urls_hide_the_root(local: Callable[[Path], LocalUrlSigner]) -> None:
    root = Path("/srv/secret place/t")
    signer = local(root)
    urls, _ = signer.sign(["a%20b", "p=1/x", "./y", "p//z", "p/../w"], 60)
    buckets = {path_of(url).split("/")[2] for url in urls}
    assert len(buckets) == 1
    assert [path_of(url).split("/", 3)[3] for url in urls] == ["a%20b", "p%3D1/x", "y", "p/z", "w"]
    assert not any(b"secret" in url for url in urls)
    absolute = ["file:///srv/secret%20place/t/x", "/srv/secret%20place/t/x", "file:/srv/../etc/x"]
    inside, also_inside, outside = signer.sign(absolute, 60)[0]
    assert path_of(inside) == path_of(also_inside) == f"/storage/{buckets.pop()}/x"
    assert path_of(outside).endswith("/etc/x")
    with pytest.raises(StorageError):
        signer.sign(["s3://b/k"], 60)


def test_bucket_names_are_stable() -> None:
    first, second = LocalBuckets(), LocalBuckets()
    name = first.add(Path("/srv/a"))
    assert name == second.add(Path("/srv/a"))
    assert name != second.add(Path("/srv/b"))
    assert first.root(name) == Path("/srv/a")
    assert first.root("srv") is None
