"""Indexes and queries tables of several sizes, and reports time, memory and storage reads.

    python -m benchmarks.run [--files 10000 100000 1000000] [--quick]

Every measurement runs in a process of its own: the index as `headgate index`, from a cold start of
Spark, and each kind of query with an empty cache first. Generated logs are kept, and made once.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.generate_log import LogSpec, generate
from benchmarks.measure import run_process
from headgate.catalog.loader import load_catalog

CACHE = Path(".headgate/benchmarks")
SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (2_000,)
_TOKEN_CHARACTERS = 1_000
# Kind, runs, characters of the session token.
_QUERIES = (
    ("selective", 20, 0),
    ("page", 20, 0),
    ("all", 5, 0),
    ("all", 5, _TOKEN_CHARACTERS),
    ("all gzip", 5, 0),
    ("all gzip", 5, _TOKEN_CHARACTERS),
)
_MIB = 1 << 20


def generated(cache: Path, files: int) -> Path:
    """The folder of a generated table, made where it is not there yet."""
    table = cache / f"orders-{files}"
    done = table / "generated.json"
    if not done.exists():
        summary = generate(table, LogSpec(files=files))
        done.write_text(json.dumps(asdict(summary)))
    return table


def measure_index(table: Path, folder: Path) -> dict[str, Any]:
    """Indexes the table from nothing to `folder/index`."""
    catalog = folder / "catalog.yaml"
    tables = [{"name": "orders", "location": str(table.resolve()), "historyShared": True}]
    catalog.write_text(
        json.dumps({"shares": [{"name": "bench", "schemas": [{"name": "s", "tables": tables}]}]})
    )
    index = folder / "index"
    run = "from headgate.cli.main import app; app()"
    cost = run_process(
        [sys.executable, "-c", run, "index", "--catalog", str(catalog), "--index", str(index)],
        folder,
    )
    [location] = load_catalog(catalog).tables_by_location()
    size = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
    return {
        **asdict(cost),
        "index": str(index),
        "location": location.location,
        "bytes": size,
        "objects": sum(file.is_file() for file in index.rglob("*")),
    }


def measure_queries(index: str, location: str, quick: bool) -> Iterator[dict[str, Any]]:
    for kind, runs, token in _QUERIES:
        options = ["--kind", kind, "--runs", str(1 if quick else runs)]
        answer = subprocess.run(
            [
                *(sys.executable, "-m", "benchmarks.queries", index, location),
                *(*options, "--session-token", str(token)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            raise RuntimeError(f"the query {kind!r} failed: {answer.stderr[-2000:]}")
        yield {**json.loads(answer.stdout), "session_token": token}


def run(sizes: Sequence[int], cache: Path, *, quick: bool, console: Console) -> dict[str, Any]:
    """Measures all sizes; prints a table of each as it is done."""
    report: dict[str, Any] = {
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine()},
        "sizes": {},
    }
    for files in sizes:
        with console.status(f"{files:,} files: generating the log"):
            table = generated(cache, files)
        with tempfile.TemporaryDirectory(prefix="headgate-bench-") as name:
            with console.status(f"{files:,} files: indexing"):
                indexed = measure_index(table, Path(name))
            queries = []
            with console.status(f"{files:,} files: querying"):
                for query in measure_queries(indexed["index"], indexed["location"], quick):
                    queries.append(query)
        report["sizes"][str(files)] = {"index": indexed, "queries": queries}
        show(console, files, indexed, queries)
    return report


def show(
    console: Console, files: int, indexed: dict[str, Any], queries: Sequence[dict[str, Any]]
) -> None:
    console.print(
        f"\n[bold]{files:,} files[/]: indexed in {indexed['seconds']:.1f} s "
        f"({indexed['cpu_seconds']:.1f} s of CPU), {indexed['bytes'] / files:.0f} bytes a file; "
        f"peak {indexed['whole'] / _MIB:,.0f} MiB: driver {indexed['main'] / _MIB:,.0f}, "
        f"JVM {indexed['java'] / _MIB:,.0f}, workers {indexed['workers'] / _MIB:,.0f}"
    )
    shown = Table(
        "query",
        *("cold ms", "warm ms", "p95 ms", "files kept", "lines/s", "MB answered"),
        *("reads cold/warm", "MB read warm", "rounds cold/warm", "peak MiB"),
    )
    for query in queries:
        token = f", {query['session_token']} token" if query["session_token"] else ""
        latency = query.get("with_latency")
        shown.add_row(
            query["kind"] + token,
            *(f"{query[name] * 1000:,.1f}" for name in ("cold", "median", "p95")),
            f"{query['answer']['kept']:,}",
            f"{query['lines_per_s']:,.0f}",
            f"{query['answer']['bytes'] / 1e6:,.1f}",
            f"{query['cold_reads']['reads']}/{query['warm_reads']['reads']}",
            f"{query['warm_reads']['bytes'] / 1e6:,.2f}",
            f"{latency['cold_rounds']}/{latency['warm_rounds']}" if latency else "",
            f"{query['peak_memory'] / _MIB:,.0f}",
        )
    console.print(shown)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Benchmark indexing and queries.")
    parser.add_argument("--files", type=int, nargs="+", help="default: 10000 100000 1000000")
    parser.add_argument(
        "--quick", action="store_true", help="2,000 files and one warm run: does it work at all?"
    )
    parser.add_argument("--cache", type=Path, default=CACHE, help="generated logs and the report")
    asked = parser.parse_args(arguments)
    sizes = asked.files or (QUICK_SIZES if asked.quick else SIZES)
    asked.cache.mkdir(parents=True, exist_ok=True)
    report = run(sizes, asked.cache, quick=asked.quick, console=Console())
    saved = asked.cache / "report.json"
    saved.write_text(json.dumps(report, indent=2))
    Console().print(f"All figures: {saved}")


if __name__ == "__main__":
    main()
