"""Is the driver's memory the same with 20 million UIDs and 2 million conversions behind it as with none?

Measured on a standalone cluster of one executor, whose driver runs no tasks.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.attribution_home import fill, ingest_batch, mark_processed
from benchmarks.attribution_traffic import BATCH, History
from benchmarks.bench import print_table, progress
from benchmarks.repeated_history import repeat_history
from benchmarks.round import JOBS, run_jobs
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from lakehouse.run.spark_session import build_session
from lakehouse.settings import Settings, load_settings
from millrace.environment.jars import spark_jars
from millrace.local.process.ports import HOST

MOST = 1.25
UIDS, CONVERTED = 20_000_000, 2_000_000
_FULL = "history"
_HOMES = ("empty", _FULL)
_VISITS = 36_000  # of the history that is repeated
_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT / "tests"))  # the cluster is that of the tests

from kit.cluster import running_cluster  # noqa: E402


@dataclass(frozen=True)
class Driver:
    """Memory of a driver in MB, and its time.

    Args:
        java: peak resident memory of the Java process.
        heap: what is in use of its heap after a full garbage collection.
        python: peak resident memory of the Python process.
        seconds: of the jobs.
    """

    java: float
    heap: float
    python: float
    seconds: float


@dataclass(frozen=True)
class Size:
    """Size of the history.

    Args:
        uids: number of UIDs, of visits and of orders.
        conversions: number of orders.
    """

    uids: int
    conversions: int

    @property
    def times(self) -> int:
        """How often the generated history is repeated."""
        return max(1, (self.uids - self.conversions) // _VISITS)

    def history(self, spark: SparkSession) -> History:
        """The history that is repeated; the micro-batches are of its visitors."""
        visits = (self.uids - self.conversions) // self.times
        return History(spark, visits, visits_per_order=round(self.uids / self.conversions) - 1)


def fill_home(settings: Settings, size: Size, *, with_history: bool) -> None:
    """Write the history to a new home, else nothing but the same rows of the ledger; and a first micro-batch.

    After the first one, tables by window and day have the history.
    """
    with _application(settings) as spark:
        run = JobContext("publish", spark, settings, once=True)
        history = size.history(spark)
        if with_history:
            fill(run, history)
            started = time.monotonic()
            rows = repeat_history(run.lake, size.times)
            shown = ", ".join(f"{name} {count:,}" for name, count in rows.items())
            progress(f"{shown}, in {time.monotonic() - started:.0f} s more")
        else:
            mark_processed(run.lake, history)
        started = time.monotonic()
        ingest_batch(Lakehouse(spark.newSession(), settings, "ingest"), history, 1)
        run_jobs({job: JobContext(job, spark.newSession(), settings, once=True) for job in JOBS})
        progress(f"a micro-batch, and all tables by window and day: {time.monotonic() - started:.0f} s")


def measure(settings: Settings, size: Size, batches: int) -> Driver:
    """Process micro-batches in a new Spark application, whose driver is this process and its Java process."""
    with _application(settings) as spark:
        history = size.history(spark)
        ingest = Lakehouse(spark.newSession(), settings, "ingest")
        runs = {job: JobContext(job, spark.newSession(), settings, once=True) for job in JOBS}
        seconds = 0.0
        for number in range(2, batches + 2):
            ingest_batch(ingest, history, number)
            seconds += sum(entry.seconds for entry in run_jobs(runs))
        java = spark.sparkContext._jvm.java  # type: ignore[union-attr]  # noqa: SLF001 - there is no public access
        java.lang.System.gc()
        heap = java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        pid = java.lang.ProcessHandle.current().pid()
        return Driver(_peak(pid), heap / 1e6, _peak(os.getpid()), seconds)


@contextmanager
def _application(settings: Settings) -> Iterator[SparkSession]:
    spark = build_session(settings, spark_jars())
    try:
        yield spark
    finally:
        spark.stop()


def _peak(pid: int) -> float:
    """Peak resident memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1e3


def compare(folder: Path, size: Size, batches: int, *, local: bool) -> dict[str, Driver]:
    """Fill an empty home and one with history, and measure each in a process of its own.

    Args:
        folder: the homes, which are filled unless they are there.
        size: size of the history.
        batches: number of micro-batches.
        local: run the tasks in the driver, instead of on a cluster.
    """
    found = {}
    for name in _HOMES:
        home, filling, copy = (folder / f"{name}{suffix}" for suffix in ("", "-filling", "-measured"))
        if not home.exists():
            _in_a_process(name, filling, size, batches)
            filling.rename(home)
        shutil.copytree(home, copy, copy_function=_link_or_copy)
        logs = Path(tempfile.mkdtemp(prefix=f"{name}-cluster-", dir=folder))
        with nullcontext() if local else running_cluster(logs, 1) as cluster:
            master = cluster.url if cluster else None
            found[name] = Driver(**json.loads(_in_a_process("measure", copy, size, batches, master)))
        progress(f"{name}: {found[name]}")
        shutil.rmtree(copy)
        shutil.rmtree(logs)
    return found


def _link_or_copy(source: str, target: str) -> None:
    """Copy a file of a home; a data file is never changed, and is linked."""
    if source.endswith(".parquet"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def _in_a_process(role: str, home: Path, size: Size, batches: int, master: str | None = None) -> str:
    command = [sys.executable, "-m", "benchmarks.driver_memory", "--role", role, "--home", str(home)]
    numbers = {"uids": size.uids, "conversions": size.conversions, "batches": batches}
    command += [part for name, number in numbers.items() for part in (f"--{name}", str(number))]
    more = {"MILLRACE_SPARK_MASTER": master, "SPARK_LOCAL_IP": HOST} if master else {}
    variables = {**os.environ, **more}
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=_ROOT, env=variables)
    return ended.stdout.strip().rpartition("\n")[2]


def _report(found: dict[str, Driver], size: Size, batches: int) -> float:
    empty, full = (asdict(driver) for driver in found.values())
    names = {
        "java": "Java, peak resident MB",
        "heap": "Java heap after collection, MB",
        "python": "Python, peak resident MB",
        "seconds": "s of refine, repair and publish",
    }
    ratios = {name: full[name] / empty[name] for name in names}
    print_table(
        f"Driver, {batches} micro-batches of {BATCH:,} events; history of {size.uids:,} UIDs and "
        f"{size.conversions:,} conversions",
        ["", "empty", "history", "history / empty"],
        [[shown, f"{empty[n]:.0f}", f"{full[n]:.0f}", f"{ratios[n]:.2f}"] for n, shown in names.items()],
    )
    return max(ratios["java"], ratios["python"])


def main() -> int:
    """Run, print, and fail if the memory grows."""
    parser = argparse.ArgumentParser(prog="make bench-driver-memory", description=__doc__)
    parser.add_argument("--uids", type=int, default=UIDS, help=f"rows of {EVENTS.name} in the history")
    parser.add_argument("--conversions", type=int, default=CONVERTED, help=f"rows of {CONVERSIONS.name}")
    parser.add_argument("--batches", type=int, default=3, help=f"micro-batches of {BATCH:,} events")
    parser.add_argument("--home", type=Path, metavar="DIR", help="keeps the filled homes for the next run")
    parser.add_argument(
        "--local", action="store_true", help="a local application, whose driver runs the tasks, too"
    )
    parser.add_argument("--role", choices=(*_HOMES, "measure"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = Size(options.uids, options.conversions)
    if options.role in _HOMES:
        fill_home(load_settings(home=options.home), size, with_history=options.role == _FULL)
        return 0
    if options.role == "measure":
        print(json.dumps(asdict(measure(load_settings(home=options.home), size, options.batches))))
        return 0
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        found = compare(options.home or Path(folder), size, options.batches, local=options.local)
    ratio = _report(found, size, options.batches)
    print(f"Larger ratio of resident memory: {ratio:.2f}, at most {MOST} is wanted.")
    return int(ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
