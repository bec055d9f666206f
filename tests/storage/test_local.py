"""What the local store alone promises: atomic files, locks between processes, no way out."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headgate.errors import ObjectNotFound, PreconditionFailed, StorageError
from headgate.storage.local import LocalObjectStore

ADD = """
import sys
from pathlib import Path
from headgate.errors import PreconditionFailed
from headgate.storage.local import LocalObjectStore
store = LocalObjectStore(Path(sys.argv[1]))
added = 0
while added < 40:
    body, tag = store.get_tagged("d/counter")
    try:
        store.put_if_match("d/counter", b"%d" % (int(body) + 1), tag)
    except PreconditionFailed:
        continue
    added += 1
"""


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "root")


def test_processes_lose_no_update(store: LocalObjectStore, tmp_path: Path) -> None:
    store.put("d/counter", b"0")
    root = str(tmp_path / "root")
    workers = [subprocess.Popen([sys.executable, "-c", ADD, root]) for _ in range(3)]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0, 0]
    assert store.get("d/counter") == b"120"
    assert [info.key for info in store.list()] == ["d/counter"]


def test_readers_never_see_half(store: LocalObjectStore) -> None:
    bodies = [bytes([letter]) * 200_000 for letter in b"ab"]
    store.put("k", bodies[0])
    done = threading.Event()

    def write() -> None:
        for number in range(100):
            store.put("k", bodies[number % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    reads = 0
    while not done.is_set():
        assert store.get("k") in bodies
        reads += 1
    writer.join()
    assert reads > 0


def test_a_failed_put_leaves_nothing(store: LocalObjectStore, tmp_path: Path) -> None:
    store.put("d/k", b"1")
    with pytest.raises(PreconditionFailed):
        store.put_if_absent("d/k", b"2")
    with pytest.raises(PreconditionFailed):
        store.put_if_match("d/k", b"2", "another")
    with pytest.raises(StorageError):
        store.put("d", b"2")
    with pytest.raises(StorageError):
        store.put("d/k/below", b"2")
    assert sorted(path.name for path in (tmp_path / "root" / "d").iterdir()) == ["k"]
    assert store.get("d/k") == b"1"


@pytest.mark.parametrize("key", ["../x", "a/../../x", "..", "", "/", ".", "a\0b"])
def test_keys_stay_below_the_root(store: LocalObjectStore, key: str) -> None:
    for use in (store.get, store.delete, store.open):
        with pytest.raises(StorageError):
            use(key)
    with pytest.raises(StorageError):
        store.put(key, b"1")


def test_a_directory_is_no_object(store: LocalObjectStore) -> None:
    store.put("d/k", b"1")
    for key in ("d", "d/k/below", "none"):
        with pytest.raises(ObjectNotFound):
            store.get(key)
        with pytest.raises(ObjectNotFound):
            store.open(key)
    store.delete("d/k/below")
    with pytest.raises(StorageError):
        store.delete("d")


def test_listing_needs_no_root_and_survives_dead_links(
    store: LocalObjectStore, tmp_path: Path
) -> None:
    assert list(store.list()) == []
    store.delete("none")
    assert not (tmp_path / "root").exists()
    store.put("k", b"1")
    (tmp_path / "root" / "dead").symlink_to(tmp_path / "nowhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_bytes(b"2")
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "elsewhere")
    assert [info.key for info in store.list()] == ["k", "linked/f"]


def test_other_failures_of_the_system_are_storage_errors(store: LocalObjectStore) -> None:
    store.put("k", b"1")
    name = "x" * 300
    with pytest.raises(StorageError, match="too long"):
        store.get(name)
    with pytest.raises(StorageError, match="too long"):
        store.put_if_absent(name, b"1")
    with pytest.raises(StorageError, match="too long"):
        list(store.list(name))
    with pytest.raises(StorageError, match="exists"):
        store.put_if_absent("k/below", b"1")
