"""How many events per second go from bronze to all tables of silver and gold, and what is the limit?"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import catch_up_runs as runs
from benchmarks import gold_guide, silver_guide
from benchmarks.bench import print_table, progress
from benchmarks.bronze_traffic import SAMPLE, fill_bronze
from benchmarks.duckdb_bound import time_duckdb
from benchmarks.harder_traffic import EVENTS as HARDER
from benchmarks.harder_traffic import fill_harder
from benchmarks.silver import default_session, time_steps
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.spark_session import build_session
from lakehouse.settings import load_settings
from millrace.environment.jars import spark_jars

EVENTS = {"sample": 2_000_000, "harder": HARDER}
BATCH = {"sample": 300_000, "harder": 100_000}
_FILLERS = {"sample": fill_bronze, "harder": fill_harder}
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Bench:
    """One run of the benchmark.

    Args:
        kind: kind of traffic: sample or harder.
        events: number of records in bronze.
        batch: records per micro-batch.
        before: another checkout to compare with, or None.
        guide: whether to run the queries of Spark's guide too.
    """

    kind: str
    events: int
    batch: int
    before: Path | None
    guide: bool

    def run(self, folder: Path) -> dict[str, float]:
        """Run all candidates one after the other. Returns seconds by candidate."""
        progress(f"filling bronze with {self.events:,} records ({self.kind})")
        self._in_a_process("fill", folder / "full")
        seconds = {}
        checkouts = {"before": self.before} if self.before else {}
        for name, checkout in {**checkouts, "millrace": _ROOT}.items():
            home = runs.copy_of(folder / "full", folder / name)
            if checkout is not _ROOT:
                runs.fit_ledger(checkout, home)
            seconds[name] = runs.time_jobs(checkout, home, self.batch)
            progress(f"{name}: {seconds[name]:.1f} s")
            runs.print_batches(name, home)
        if self.guide:
            home = runs.copy_of(folder / "full", folder / "guide")
            seconds["guide"] = sum(taken for taken, _ in self._in_a_process("guide", home).values())
        seconds["DuckDB"] = time_duckdb(folder / "millrace")
        return seconds

    def report(self, seconds: dict[str, float]) -> None:
        """Print events per second, and the time relative to Millrace."""
        rows = [
            [name, f"{taken:.1f}", f"{self.events / taken:,.0f}", f"{taken / seconds['millrace']:.2f}"]
            for name, taken in seconds.items()
        ]
        title = f"{self.events:,} events ({self.kind}) from bronze to all tables, {os.cpu_count()} cores"
        print_table(title, ["", "s", "events/s", "s / s of millrace"], rows)

    def _in_a_process(self, role: str, home: Path) -> dict[str, tuple[float, float]]:
        command = [sys.executable, "-m", "benchmarks.catch_up", "--role", role, "--home", str(home)]
        command += ["--kind", self.kind, "--events", str(self.events), "--batch", str(self.batch)]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        found: dict[str, tuple[float, float]] = json.loads(ended.stdout.splitlines()[-1])
        return found

    def play(self, role: str, home: Path) -> dict[str, tuple[float, float]]:
        """Run one part in this process. Returns seconds and CPU seconds by step."""
        settings = load_settings(home=home)
        if role == "fill":
            spark = build_session(settings, spark_jars())
            _FILLERS[self.kind](Lakehouse(spark, settings, "ingest"), self.events, self.batch)
            spark.stop()
            return {}
        spark = default_session(settings)
        steps = {**silver_guide.STEPS, **gold_guide.STEPS}
        return time_steps(spark, {name: partial(step, spark, home) for name, step in steps.items()})


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="make bench-catch-up", description=__doc__)
    parser.add_argument("--kind", choices=tuple(EVENTS), default="sample", help="of traffic")
    parser.add_argument("--events", type=int, help=f"records in bronze; {EVENTS}")
    parser.add_argument("--batch", type=int, help=f"records of a micro-batch; {BATCH}")
    parser.add_argument("--before", type=Path, metavar="DIR", help="another checkout, with its own .venv")
    parser.add_argument("--without-guide", action="store_true", help="leave out the queries of Spark's guide")
    parser.add_argument("--role", choices=("fill", "guide"), help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    events = options.events or EVENTS[options.kind]
    if options.kind == "sample" and events > SAMPLE and events % SAMPLE:
        parser.error(f"--events above {SAMPLE:,} must be a multiple of it: the sample is taken whole")
    before = options.before.resolve() if options.before else None
    bench = Bench(
        options.kind, events, options.batch or BATCH[options.kind], before, not options.without_guide
    )
    if options.role:
        print(json.dumps(bench.play(options.role, options.home)))
        return 0
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        seconds = bench.run(Path(folder))
    bench.report(seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
