"""Queries one indexed table in this process, and prints what that took as JSON.

    python -m benchmarks.queries INDEX LOCATION --kind selective

One process measures one kind of query, so that its peak memory is that query's. The answer is made
as the API makes it, without HTTP: `query.answer.files`, and isal where it is compressed. URLs are
signed for S3 with credentials that mean nothing.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from isal import isal_zlib

from benchmarks.measure import CountingStore, peak_memory, repeat
from headgate.manifest.read import ManifestReader
from headgate.model.sharing import Capabilities, Table
from headgate.query.answer import Answer, QueryServices, SnapshotQuery, files
from headgate.storage.credentials import Credentials
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.locate import open_store
from headgate.storage.options import StorageOptions
from headgate.storage.signers import S3UrlSigner

# Files that the page-sized query answers with, about: a limit counts rows.
PAGE_FILES = 10_000
# What a read of object storage takes, where round trips are counted.
_LATENCY_S = 0.02
_CAPABILITIES = Capabilities.parse("responseformat=delta;readerfeatures=deletionvectors")
# A quarter of one day of 366, on the column that orders the table, and one that rules nothing out.
_SELECTIVE = SnapshotQuery(
    predicate_hints=(
        "event_time >= '2024-07-01T06:00:00Z'",
        "event_time < '2024-07-01T12:00:00Z'",
        "price >= 12.5",
    )
)

Query = Callable[[], dict[str, int]]


class Bench:
    """One table, and queries of it that report how much they answered."""

    def __init__(self, index: str, location: str, session_token: str | None) -> None:
        self.store = CountingStore(open_store(index, StorageOptions()))
        self._table = Table("orders", "bench", "bench", location)
        credentials = Credentials("AKIAIOSFODNN7EXAMPLE", "a secret of forty chars", session_token)
        self._signer = S3UrlSigner(
            "headgate-bench", "tables/orders", S3Endpoint("eu-central-1"), lambda: credentials
        )
        self._use(self.store)

    def _use(self, store: CountingStore) -> None:
        self._services = QueryServices(ManifestReader(store), lambda _: self._signer, 3600)

    def with_latency(self) -> CountingStore:
        """From here on each read takes as long as one of object storage; nothing is cached."""
        slow = CountingStore(self.store, _LATENCY_S)
        self._use(slow)
        return slow

    def page(self) -> SnapshotQuery:
        """A query whose limit about PAGE_FILES files reach."""
        head = self._services.reader.head(self._table.index_id)
        assert head is not None
        assert head.totals.records is not None
        rows_a_file = head.totals.records / head.totals.files
        return SnapshotQuery(limit_hint=int(rows_a_file * PAGE_FILES))

    def answer(self, query: SnapshotQuery) -> dict[str, int]:
        answer = files(self._services, self._table, _CAPABILITIES, query)
        return {**_counts(answer), "bytes": sum(len(line) for line in answer.lines)}

    def compressed(self, query: SnapshotQuery) -> dict[str, int]:
        answer = files(self._services, self._table, _CAPABILITIES, query)
        compressor = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
        size = sum(len(compressor.compress(line)) for line in answer.lines)
        return {**_counts(answer), "bytes": size + len(compressor.flush())}


def _counts(answer: Answer) -> dict[str, int]:
    assert "Headgate-Hints-Unused" not in answer.headers
    return {
        "considered": int(answer.headers["Headgate-Files-Considered"]),
        "kept": int(answer.headers["Headgate-Files-Kept"]),
    }


def measure(
    index: str, location: str, kind: str, runs: int, session_token: str | None
) -> dict[str, Any]:
    """Times one kind of query, `selective`, `page`, `all` or `all gzip`: first cold, then warm."""
    bench = Bench(index, location, session_token)
    asked = {"selective": _SELECTIVE, "page": bench.page()}.get(kind, SnapshotQuery())
    query = partial(bench.compressed if kind.endswith("gzip") else bench.answer, asked)
    found: dict[str, int] = {}
    reads: list[dict[str, int]] = []

    def once() -> None:
        bench.store.reset()
        found.update(query())
        reads.append({"reads": bench.store.reads, "bytes": bench.store.bytes})

    timings = repeat(once, runs)
    report = {
        "kind": kind,
        **asdict(timings),
        "answer": found,
        "lines_per_s": found["kept"] / timings.median,
        "cold_reads": reads[0],
        "warm_reads": reads[-1],
        "peak_memory": peak_memory(),
    }
    if not kind.startswith("all"):
        report["with_latency"] = _with_latency(bench, query)
    return report


def _with_latency(bench: Bench, query: Query) -> dict[str, float]:
    slow = bench.with_latency()
    found: dict[str, float] = {"latency_ms": _LATENCY_S * 1000}
    for name in ("cold", "warm"):
        slow.reset()
        started = time.perf_counter()
        query()
        found[f"{name}_s"] = time.perf_counter() - started
        found |= {f"{name}_rounds": slow.rounds, f"{name}_reads": slow.reads}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure one kind of query of an indexed table.")
    parser.add_argument("index", help="root of the manifests")
    parser.add_argument("location", help="the table's root URL, as it was indexed")
    parser.add_argument(
        "--kind", choices=("selective", "page", "all", "all gzip"), default="selective"
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--session-token", type=int, default=0, help="its length; 0 for none")
    parser.add_argument("--profile", type=Path, help="write a cProfile of the warm runs here")
    asked = parser.parse_args()
    token = "t" * asked.session_token or None

    def work() -> dict[str, Any]:
        return measure(asked.index, asked.location, asked.kind, asked.runs, token)

    if asked.profile is None:
        print(json.dumps(work()))
        return
    import cProfile

    profile = cProfile.Profile()
    print(json.dumps(profile.runcall(work)))
    profile.dump_stats(asked.profile)


if __name__ == "__main__":
    main()
