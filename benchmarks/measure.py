"""Measuring: processes with all their children, storage reads, and repeated runs."""

import importlib
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from headgate.storage.base import ObjectInfo, ObjectStore

psutil: Any = importlib.import_module("psutil")  # ships no types

_SAMPLE_S = 0.1
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """What a process and its children took, from start to end. Memory is resident bytes at peak;
    `whole` is the peak of the sum, so that pages which processes share count in each.
    """

    seconds: float
    cpu_seconds: float  # of all of them, to the last sample; on busy machines the fairer number
    whole: int
    main: int
    java: int
    workers: int  # all Python processes but the main one, together


def run_process(command: Sequence[str], folder: Path) -> ProcessCost:
    """Runs a command in `folder`; raises RuntimeError, with its output, where it fails."""
    started = time.perf_counter()
    with (folder / "output.log").open("wb+") as output:
        process = psutil.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        peaks = dict.fromkeys(("whole", "main", "java", "workers"), 0)
        cpu: dict[int, float] = {}
        while process.poll() is None:
            now = _resident(process, cpu)
            now["whole"] = sum(now.values())
            peaks = {name: max(peaks[name], now[name]) for name in peaks}
            time.sleep(_SAMPLE_S)
        if process.returncode != 0:
            output.seek(0)
            raise RuntimeError(f"{command[0]} failed: {output.read().decode()[-2000:]}")
    return ProcessCost(time.perf_counter() - started, sum(cpu.values()), **peaks)


def _resident(process: Any, cpu: dict[int, float]) -> dict[str, int]:
    """Resident bytes by kind of process; notes in `cpu` the seconds that each has used."""
    found = dict.fromkeys(("main", "java", "workers"), 0)
    try:
        members = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return found
    for member in members:
        try:
            kind = "main" if member.pid == process.pid else "workers"
            found["java" if member.name() == "java" else kind] += member.memory_info().rss
            times = member.cpu_times()
            cpu[member.pid] = times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return found


def peak_memory() -> int:
    """Resident bytes of this process at its peak so far."""
    # The kernel's own mark: sampling would miss peaks and cost time. Not getrusage's on Linux: that
    # one a process inherits from the process that started it.
    status = Path("/proc/self/status")
    if status.exists():
        [line] = [each for each in status.read_text().splitlines() if each.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds of the first run, and the median and 95th percentile of those after it."""

    cold: float
    median: float
    p95: float
    runs: int


def repeat(work: Callable[[], object], runs: int, most_s: float = 60.0) -> Timings:
    """Times `work` once cold and then `runs` times; fewer, but 5 at least, past `most_s`."""
    taken: list[float] = []
    begun = time.perf_counter()
    for number in range(runs + 1):
        started = time.perf_counter()
        if number > 5 and started - begun > most_s:
            break
        work()
        taken.append(time.perf_counter() - started)
    warm = sorted(taken[1:])
    last = min(len(warm) - 1, int(len(warm) * 0.95))
    return Timings(taken[0], statistics.median(warm), warm[last], len(warm))


class CountingStore:
    """An ObjectStore that counts what is read from the one it wraps.

    `latency_s` is slept before each read, as object storage would take it. `rounds` counts reads
    that had to wait for another: those that overlap an earlier one belong to its round.
    """

    def __init__(self, store: ObjectStore, latency_s: float = 0.0) -> None:
        self.url = store.url
        self._store = store
        self._latency_s = latency_s
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.reads = self.bytes = self.rounds = 0
        self._round_ends = 0.0

    def get(self, key: str) -> bytes:
        return self._read(lambda: self._store.get(key), len)

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        return self._read(lambda: self._store.get_tagged(key), lambda found: len(found[0]))

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return self._read(
            lambda: self._store.get_ranges(key, ranges), lambda found: sum(map(len, found))
        )

    def open(self, key: str) -> IO[bytes]:
        return self._store.open(key)

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[ObjectInfo]:
        return iter(self._read(lambda: list(self._store.list(prefix, after)), lambda found: 0))

    def put(self, key: str, body: bytes) -> str:
        return self._store.put(key, body)

    def put_if_absent(self, key: str, body: bytes) -> str:
        return self._store.put_if_absent(key, body)

    def put_if_match(self, key: str, body: bytes, tag: str) -> str:
        return self._store.put_if_match(key, body, tag)

    def delete(self, key: str) -> None:
        self._store.delete(key)

    def _read(self, read: Callable[[], _Found], size: Callable[[_Found], int]) -> _Found:
        started = time.perf_counter()
        if self._latency_s:
            time.sleep(self._latency_s)
        found = read()
        with self._lock:
            if started >= self._round_ends:
                self.rounds += 1
                self._round_ends = time.perf_counter()
            self.reads += 1
            self.bytes += size(found)
        return found
