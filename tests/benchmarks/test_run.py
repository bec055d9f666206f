"""The benchmarks measure what they say: real reads, real answers, whole processes."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.measure import CountingStore, repeat, run_process
from benchmarks.run import main
from headgate.storage.local import LocalObjectStore


def test_a_quick_run_reports_every_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--quick", "--files", "1500", "--cache", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "1,500 files" in shown
    report = json.loads((tmp_path / "report.json").read_text())["sizes"]["1500"]

    index = report["index"]
    assert index["bytes"] > 100 * 1500
    assert min(index["main"], index["java"], index["workers"]) > 50 << 20
    assert index["whole"] <= index["main"] + index["java"] + index["workers"]
    assert index["cpu_seconds"] > 0

    queries = {(query["kind"], query["session_token"]): query for query in report["queries"]}
    assert len(queries) == 6
    # 1,500 files, and 10 added and 5 removed in each of 100 commits.
    whole = queries["all", 0]
    assert whole["answer"]["kept"] == 2000
    assert 0 < queries["selective", 0]["answer"]["kept"] < 20
    assert queries["page", 0]["answer"]["kept"] == 2000  # a table smaller than a page
    # Each URL is longer by its token.
    assert queries["all", 1000]["answer"]["bytes"] > whole["answer"]["bytes"] + 1000 * 2000
    assert queries["all gzip", 0]["answer"]["bytes"] < whole["answer"]["bytes"] / 3
    for query in queries.values():
        assert 0 < query["median"] < query["cold"]
        assert query["warm_reads"]["reads"] < query["cold_reads"]["reads"]
        assert query["warm_reads"]["bytes"] < query["cold_reads"]["bytes"]


def test_memory_and_time_of_children_count(tmp_path: Path) -> None:
    child = "x = b'x' * (80 << 20); import time; time.sleep(0.6)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    cost = run_process([sys.executable, "-c", parent], tmp_path)
    assert cost.seconds > 0.6
    assert cost.workers > 80 << 20 > cost.main
    assert cost.whole >= cost.workers
    with pytest.raises(RuntimeError, match="no such module"):
        run_process([sys.executable, "-c", "raise SystemExit('no such module')"], tmp_path)


def test_rounds_are_reads_that_wait_for_others(tmp_path: Path) -> None:
    LocalObjectStore(tmp_path).put("a", b"12345678")
    store = CountingStore(LocalObjectStore(tmp_path), latency_s=0.05)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(store.get, ["a"] * 3))
    store.get_ranges("a", [(0, 2), (5, 1)])
    assert (store.reads, store.rounds, store.bytes) == (4, 2, 27)
    store.reset()
    assert (store.reads, store.rounds, store.bytes) == (0, 0, 0)


def test_the_first_run_is_not_among_the_warm_ones() -> None:
    pauses = iter([0.05, 0.0, 0.0, 0.0])
    timings = repeat(lambda: time.sleep(next(pauses)), 3)
    assert timings.cold > 0.05 > timings.p95 >= timings.median
    assert timings.runs == 3
