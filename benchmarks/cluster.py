"""How much faster do two executors of one core catch up than one, and which processes do the work?"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import psutil

from benchmarks import catch_up_runs as runs
from benchmarks.bench import print_table, progress
from benchmarks.bronze_traffic import SAMPLE, fill_bronze
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.spark_session import build_session
from lakehouse.settings import load_settings
from millrace.environment.jars import spark_jars

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT / "tests"))  # the cluster is that of the tests

from kit.cluster import Cluster, running_cluster  # noqa: E402

EVENTS = 600_000
BATCH = 300_000
_PAUSE = 0.5  # seconds between two samples
_WANTED, _MOST = 1.4, 1.15


class ProcessorTime:
    """Processor seconds of the processes below some others, measured until the block ends.

    Args:
        roots: ids of processes by name; they and their descendants are counted.
    """

    def __init__(self, roots: dict[str, Iterable[int]]) -> None:
        self._roots = {name: list(ids) for name, ids in roots.items()}
        self._seconds: dict[str, dict[tuple[int, float], float]] = {name: {} for name in roots}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample_all, daemon=True)

    def __enter__(self) -> "ProcessorTime":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def seconds(self) -> dict[str, float]:
        """Seconds by name. Of a process that ended, those until its last sample."""
        return {name: sum(found.values()) for name, found in self._seconds.items()}

    def _sample_all(self) -> None:
        while not self._ended.wait(_PAUSE):
            for name, ids in self._roots.items():
                for root in ids:
                    self._sample(name, root)

    def _sample(self, name: str, root: int) -> None:
        with suppress(psutil.Error):
            top = psutil.Process(root)
            for process in (top, *top.children(recursive=True)):
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    self._seconds[name][process.pid, process.create_time()] = times.user + times.system


@dataclass(frozen=True)
class Run:
    """Figures of one run.

    Args:
        seconds: of all micro-batches of refine, repair and publish.
        tasks: number of tasks.
        task_seconds: their run time.
        driver: processor seconds of the driver, its start included.
        executors: processor seconds of the workers, their executors and Python workers.
    """

    seconds: float
    tasks: int
    task_seconds: float
    driver: float
    executors: float


def run_on(cluster: Cluster, home: Path, batch: int) -> Run:
    """Run the jobs on a cluster until they have caught up."""
    command = [str(_ROOT / ".venv" / "bin" / "millrace"), "run", *runs.JOBS, "--once"]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    more = {"MILLRACE_HOME": str(home), "MILLRACE_MAX_BATCH_ROWS": str(batch)}
    more |= {"MILLRACE_SPARK_MASTER": cluster.url, "SPARK_LOCAL_IP": "127.0.0.1"}
    with subprocess.Popen(command, cwd=_ROOT, env={**ours, **more}, stdout=sys.stderr) as driver:
        roots = {"driver": [driver.pid], "executors": [worker.pid for worker in cluster.workers]}
        with ProcessorTime(roots) as processor:
            if driver.wait():
                raise SystemExit(f"the jobs failed with {driver.returncode}")
    of_jobs = pl.scan_delta(home / "warehouse" / "ops" / "ledger").filter(pl.col("job").is_in(runs.JOBS))
    sums = of_jobs.select(pl.col("seconds", "tasks", "task_seconds").sum()).collect().to_dicts()[0]
    return Run(**sums, **processor.seconds())


def main() -> int:
    """Run on one and on two executors, and print."""
    parser = argparse.ArgumentParser(prog="make bench-cluster", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="records in bronze")
    parser.add_argument("--batch", type=int, default=BATCH, help="records of a micro-batch")
    options = parser.parse_args()
    if options.events > SAMPLE and options.events % SAMPLE:
        parser.error(f"--events above {SAMPLE:,} must be a multiple of it: the sample is taken whole")
    found = {}
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as name:
        folder = Path(name)
        settings = load_settings(home=folder / "full")
        progress(f"filling bronze with {options.events:,} records")
        spark = build_session(settings, spark_jars())
        fill_bronze(Lakehouse(spark, settings, "ingest"), options.events, options.batch)
        spark.stop()
        for workers in (1, 2):
            home, logs = runs.copy_of(folder / "full", folder / f"home-{workers}"), folder / f"at-{workers}"
            logs.mkdir()
            with running_cluster(logs, workers) as cluster:
                found[workers] = run_on(cluster, home, options.batch)
            runs.print_batches(f"{workers} executors", home)
    rows = [
        [
            f"{workers} executors",
            f"{run.seconds:.0f}",
            f"{run.tasks:,}",
            f"{run.task_seconds:.0f}",
            f"{run.driver:.0f}",
            f"{run.executors:.0f}",
            f"{run.executors / (run.executors + run.driver):.2f}",
        ]
        for workers, run in found.items()
    ]
    columns = ["", "s of micro-batches", "tasks", "s of tasks", "processor s: driver", "executors", "share"]
    print_table(f"{options.events:,} events from bronze to gold, {os.cpu_count()} cores", columns, rows)
    faster = found[1].seconds / found[2].seconds
    longer = found[2].task_seconds / found[1].task_seconds
    print(f"two executors are {faster:.2f} times as fast; {_WANTED} is wanted")
    print(f"their tasks take {longer:.2f} times as long in all; {_MOST} at most is wanted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
