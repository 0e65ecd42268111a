"""How long do the queries of each page take: cold, warm, and with ten concurrent viewers?

The queries are recorded by running each page once. The files of the tables have the layout that Spark and
maintenance produce. Cold is a new process. Warm is a process that has read the tables before, with one new
commit to every table and an empty result cache.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.bench import print_table, progress
from benchmarks.dashboard_asking import CHANGING, ROOT, VIEWERS
from benchmarks.dashboard_layout import write_table
from benchmarks.dashboard_tables import END, tables_of_a_year

MOST_WARM, MOST_COLD, MOST_BYTES = 0.150, 1.0, 2**30


def main() -> None:
    """Write the tables, run the queries, print times. Exit code 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000, help="of gold.attribution")
    parser.add_argument("--sessions", type=int, default=10_000_000, help="that a year's windows count")
    parser.add_argument("--seconds", type=float, default=120.0, help="that ten viewers look")
    parser.add_argument(
        "--readers", nargs="+", choices=("polars", "duckdb"), default=["polars"], help="compared in one run"
    )
    parser.add_argument("--home", type=Path, help="keep the tables here, and use them if they are there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        home = arguments.home or Path(folder)
        _prepare(home, arguments.rows, arguments.sessions)
        raise SystemExit(_measure(home, Path(folder), arguments.readers, arguments.seconds))


def _prepare(home: Path, rows: int, sessions: int) -> None:
    if (home / "warehouse").exists():
        return
    progress(f"writing {rows:,} rows of attribution and a year of {sessions:,} sessions")
    for name, pieces in tables_of_a_year(rows, sessions):
        count = write_table(home, name, pieces, END if name in CHANGING else None)
        progress(f"  {name}: {count:,}")


def _measure(home: Path, folder: Path, readers: Sequence[str], seconds: float) -> int:
    progress("opening each page, to learn what it asks")
    file = folder / "asked.pickle"
    _asking("learn", home, file)
    progress("asking in new processes")
    cold: dict[str, Any] = {reader: defaultdict(list) for reader in readers}
    for view, kinds in pickle.loads(file.read_bytes()).items():
        for number, reader in product(range(len(kinds)), readers):
            cold[reader][view].append(_asking("cold", home, file, reader, view, number))
    progress("asking again, after a commit to every table")
    warm = _asking("warm", home, file, *readers)
    broken = 0
    for reader in readers:
        progress(f"{reader}: {VIEWERS} viewers for {seconds:g} s")
        with _process("commits", home, seconds):
            crowd = _asking("crowd", home, file, reader, seconds)
        broken |= _report(reader, cold[reader], warm[reader], crowd["times"], crowd["most"])
    return broken


def _asking(*arguments: object) -> Any:
    """Run a separate process. Returns the JSON on its last output line."""
    with _process(*arguments) as process:
        reported, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(errors)
    return json.loads(reported.splitlines()[-1]) if reported.strip() else None


def _process(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.dashboard_asking", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


Times = Mapping[str, Sequence[float]]
Pairs = Mapping[str, Sequence[tuple[float, float]]]


def _report(reader: str, cold_pairs: Pairs, warm_pairs: Pairs, crowd: Times, memory: int) -> int:
    (cold, cold_work), (warm, warm_work) = map(_apart, (cold_pairs, warm_pairs))
    shown = (cold, cold_work, warm, warm_work, crowd)
    rows = [
        (view, *(f"{1000 * _p95(times[view]):,.0f}" for times in shown), f"{len(crowd[view])}")
        for view in cold
    ]
    columns = (
        "page",
        "cold, ms",
        "of processors",
        "warm, ms",
        "of processors",
        f"{VIEWERS} viewers, ms",
        "looks",
    )
    print_table(f"{reader}: p95 of all queries of a page", columns, rows)
    print(f"load of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    print(f"memory of the process with {VIEWERS} viewers: {memory / 2**20:,.0f} MB at most")
    broken = [view for view in cold if _p95(warm[view]) > MOST_WARM or _p95(cold[view]) > MOST_COLD]
    print(f"over a limit ({MOST_WARM:g} s warm, {MOST_COLD:g} s cold): {', '.join(broken) or 'none'}")
    return int(bool(broken) or memory > MOST_BYTES)


def _apart(pairs: Pairs) -> tuple[Times, Times]:
    """Split pairs into lists of wall seconds and CPU seconds."""
    return tuple({view: [pair[at] for pair in each] for view, each in pairs.items()} for at in (0, 1))  # type: ignore[return-value]


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[min(int(0.95 * len(times)), len(times) - 1)] if times else float("nan")


if __name__ == "__main__":
    main()
