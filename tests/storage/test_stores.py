"""What every ObjectStore does, on local directories and on S3."""

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.errors import ObjectNotFound, PreconditionFailed, StorageError
from headgate.storage.base import ObjectStore
from headgate.storage.local import LocalObjectStore
from headgate.storage.locate import open_store
from tests.servers import S3Server

_counter = itertools.count()

PLAIN_KEYS = ["a-b", "a.b", "a/b/c", "a/d", "a0", "b"]  # in order
ODD_KEYS = [
    "a b", "a%20b", "a%2Fb", "a#b", "a?b", "a+b=c", "x&y;z", "é/😀", "[q]{z}|^`~*", '<>"\\', "p%",
    "p=2020-01-01 00%3A00/f",
]  # fmt: skip
# Keys that only S3 tells from others: on a file system they are another spelling, or no name.
S3_KEYS = ["a//b", "/lead", "a/./b", "trail/", "line\nfeed", "tab\there"]


@pytest.fixture(params=["local", "s3", "s3 odd prefix"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "local":
        return LocalObjectStore(tmp_path / "root %20#")
    server: S3Server = request.getfixturevalue("s3_server")
    bucket = server.new_bucket(f"store-{next(_counter)}")
    prefix = "root %20#/x" if request.param == "s3" else "root//x"
    return open_store(f"s3://{bucket}/{prefix}", server.options)


def keys_of(store: ObjectStore, *args: Any, **kwargs: Any) -> list[str]:
    return [info.key for info in store.list(*args, **kwargs)]


@pytest.mark.parametrize("key", ODD_KEYS)
def test_odd_keys_are_kept_apart(store: ObjectStore, key: str) -> None:
    body = key.encode()
    tag = store.put(key, body)
    assert store.get(key) == body
    assert store.get_tagged(key) == (body, tag)
    assert store.get_ranges(key, [(0, 1), (len(body) - 1, 1)]) == [body[:1], body[-1:]]
    with store.open(key) as file:
        assert file.read() == body
    assert keys_of(store) == [key]
    assert [info.size_bytes for info in store.list()] == [len(body)]
    store.put_if_match(key, b"new", tag)
    with pytest.raises(PreconditionFailed):
        store.put_if_match(key, b"newer", tag)
    with pytest.raises(PreconditionFailed):
        store.put_if_absent(key, b"newer")
    assert store.get(key) == b"new"
    store.delete(key)
    store.delete(key)
    with pytest.raises(ObjectNotFound):
        store.get(key)


@pytest.mark.parametrize("prefix", ["", "plain"])
def test_s3_tells_every_key_from_every_other(s3_server: S3Server, prefix: str) -> None:
    bucket = s3_server.new_bucket(f"odd-{next(_counter)}")
    store = open_store(f"s3://{bucket}/{prefix}", s3_server.options)
    keys = S3_KEYS + ODD_KEYS + PLAIN_KEYS + ["trail"]
    for key in keys:
        store.put(key, key.encode())
    assert {key: store.get(key) for key in keys} == {key: key.encode() for key in keys}
    assert keys_of(store) == sorted(keys, key=str.encode)
    assert keys_of(store, after="a//b") == [
        key for key in sorted(keys, key=str.encode) if key.encode() > b"a//b"
    ]
    client = s3_server.client()
    below = f"{prefix}/" if prefix else ""
    for key in S3_KEYS:
        answer = client.get_object(Bucket=bucket, Key=below + key)
        assert answer["Body"].read() == key.encode()
        with store.open(key) as file:
            assert file.read() == key.encode()
        assert store.get_ranges(key, [(1, 2), (0, 0)]) == [key.encode()[1:3], b""]
        tag = store.get_tagged(key)[1]
        assert store.put_if_match(key, b"2", tag) != tag
        with pytest.raises(PreconditionFailed):
            store.put_if_match(key, b"3", tag)
        with pytest.raises(PreconditionFailed):
            store.put_if_absent(key, b"3")
        store.delete(key)
        with pytest.raises(ObjectNotFound):
            store.open(key)
        with pytest.raises(PreconditionFailed):
            store.put_if_match(key, b"3", tag)


def test_listing_is_ordered_and_bounded(store: ObjectStore) -> None:
    for key in reversed(PLAIN_KEYS):
        store.put(key, b"12")
    assert keys_of(store) == PLAIN_KEYS
    assert keys_of(store, "a") == keys_of(store, "/a/") == ["a/b/c", "a/d"]
    assert keys_of(store, "a", after="a/b/c") == ["a/d"]
    for after in [*PLAIN_KEYS, "", "a", "a/", "a/b/", "a/b/b", "zzz"]:
        assert keys_of(store, after=after) == [key for key in PLAIN_KEYS if key > after], after
    assert keys_of(store, "nothing/here") == []
    assert keys_of(store, "b") == []


def test_listing_tells_size_and_time(store: ObjectStore) -> None:
    before_ms = time.time() * 1000
    store.put("a/b", b"123")
    (info,) = store.list()
    assert (info.key, info.size_bytes) == ("a/b", 3)
    assert abs(info.modified_ms - before_ms) < 60_000


def test_ranges(store: ObjectStore) -> None:
    body = random.Random(7).randbytes(3_000_000)
    store.put("big", body)
    ranges = [(2_999_990, 10), (0, 5), (4, 3), (0, 0), (1_500_000, 100_000)]
    assert store.get_ranges("big", ranges) == [body[o : o + n] for o, n in ranges]
    assert store.get_ranges("big", []) == []
    for past in [(2_999_990, 11), (4_000_000, 1)]:
        with pytest.raises(StorageError):
            store.get_ranges("big", [(0, 1), past])
    with pytest.raises(ObjectNotFound):
        store.get_ranges("none", [(0, 1)])
    with pytest.raises(ObjectNotFound):
        store.open("none")


def test_parquet_reads_through_an_open_object(store: ObjectStore) -> None:
    table = pa.table({"n": list(range(50_000)), "s": [str(n) * 9 for n in range(50_000)]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=7_000)
    store.put("t/f.parquet", sink.getvalue().to_pybytes())
    with store.open("t/f.parquet") as file:
        assert pq.ParquetFile(file).read_row_group(3, columns=["s"])["s"][0].as_py() == "21000" * 9
    with store.open("t/f.parquet") as file:
        assert pq.read_table(file).equals(table)


def test_a_put_replaces_and_a_tag_follows_the_content(store: ObjectStore) -> None:
    first = store.put("k", b"1")
    second = store.put("k", b"2")
    assert first != second
    assert store.get_tagged("k") == (b"2", second)
    assert store.put("empty", b"") == store.get_tagged("empty")[1]
    assert store.get("empty") == b""
    third = store.put_if_match("k", b"3", second)
    assert store.get_tagged("k") == (b"3", third)
    store.delete("k")
    with pytest.raises(PreconditionFailed):
        store.put_if_match("k", b"4", third)
    assert store.put_if_absent("k", b"4") == store.get_tagged("k")[1]


def test_concurrent_updates_lose_nothing(store: ObjectStore) -> None:
    store.put("counter", b"0")

    def add() -> None:
        while True:
            body, tag = store.get_tagged("counter")
            try:
                store.put_if_match("counter", b"%d" % (int(body) + 1), tag)
            except PreconditionFailed:
                continue
            return

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(add) for _ in range(20)]:
            done.result()
    assert store.get("counter") == b"20"


def test_one_of_many_creates(store: ObjectStore) -> None:
    def create(number: int) -> bool:
        try:
            store.put_if_absent("one", b"%d" % number)
        except PreconditionFailed:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(create, range(12)))
    assert won.count(True) == 1
    assert store.get("one") == b"%d" % won.index(True)
