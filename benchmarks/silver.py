"""How many events per second does silver process, compared with queries in the style of Spark's guide?"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from benchmarks.bench import print_table, progress
from benchmarks.bronze_traffic import SAMPLE, fill_bronze
from benchmarks.silver_guide import STEPS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext, JobListener
from lakehouse.run.spark_session import JVM_OPTIONS, build_session
from lakehouse.settings import Settings, load_settings
from millrace.environment.jars import spark_jars
from silver.refine_job import refine
from silver.repair_job import repair

WANTED = 2.5
EVENTS = 2_000_000
_OURS, _GUIDE = "silver", "guide"
_BATCH = 900_000  # the guide's queries process everything in one batch
_DEFAULT = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


class _Spoken(JobListener):
    """Prints the progress of a job to standard error."""

    def __init__(self) -> None:
        self._done = 0

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        self._done += rows
        progress(f"{job}: {self._done:,} ({rows / seconds:,.0f} events/s)")


def default_session(settings: Settings) -> SparkSession:
    """A Spark session with default settings, except those that Delta and this machine need."""
    builder = SparkSession.builder.master("local[*]")
    needed = {
        "spark.jars": ",".join(map(str, spark_jars())),
        "spark.driver.memory": settings.spark_memory,
        "spark.driver.extraJavaOptions": f"{JVM_OPTIONS} -Duser.timezone=UTC",
        "spark.local.dir": str(settings.home / "spark"),
    }
    for name, value in (needed | _DEFAULT).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _fill(settings: Settings, events: int) -> None:
    spark = build_session(settings, spark_jars())
    fill_bronze(Lakehouse(spark, settings, "ingest"), events, settings.max_batch_rows)
    spark.stop()


def _run_ours(settings: Settings) -> dict[str, tuple[float, float]]:
    spark = build_session(settings, spark_jars())
    steps = {
        job.__name__: partial(job, JobContext(job.__name__, spark, settings, once=True, listener=_Spoken()))
        for job in (refine, repair)
    }
    return time_steps(spark, steps)


def _run_guide(settings: Settings) -> dict[str, tuple[float, float]]:
    spark = default_session(settings)
    return time_steps(spark, {name: partial(step, spark, settings.home) for name, step in STEPS.items()})


def time_steps(spark: SparkSession, steps: dict[str, Callable[[], None]]) -> dict[str, tuple[float, float]]:
    """Seconds and CPU seconds (Java and Python) of each step."""
    java = psutil.Process(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # noqa: SLF001
    figures = {}
    for name, step in steps.items():
        before = time.monotonic(), _processor(java)
        step()
        figures[name] = time.monotonic() - before[0], _processor(java) - before[1]
        progress(f"{name}: {figures[name][0]:.1f} s")
    spark.stop()
    return figures


def _processor(java: psutil.Process) -> float:
    return float(sum(java.cpu_times()[:2]) + sum(os.times()[:2]))


_ROLES = {_OURS: _run_ours, _GUIDE: _run_guide}


def _in_its_own_process(role: str, home: Path, events: int) -> dict[str, tuple[float, float]]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.silver",
        "--role",
        role,
        "--home",
        str(home),
        "--events",
        str(events),
    ]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, tuple[float, float]] = json.loads(ended.stdout.splitlines()[-1])
    return figures


def _report(events: int, figures: dict[str, dict[str, tuple[float, float]]]) -> float:
    rows = []
    total = {}
    for role, steps in figures.items():
        for name, (seconds, processor) in steps.items():
            rows.append([f"{role}: {name}", f"{seconds:.1f}", f"{processor:.1f}", f"{events / seconds:,.0f}"])
        total[role] = sum(seconds for seconds, _ in steps.values())
        processor = sum(used for _, used in steps.values())
        rows.append(
            [f"{role}, all", f"{total[role]:.1f}", f"{processor:.1f}", f"{events / total[role]:,.0f}"]
        )
    print_table(f"{events:,} events, {os.cpu_count()} cores", ["", "s", "processor s", "events/s"], rows)
    return total[_GUIDE] / total[_OURS]


def main() -> int:
    """Run both, print, and fail if silver is not fast enough."""
    parser = argparse.ArgumentParser(prog="make bench-silver", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="records in bronze")
    parser.add_argument("--role", choices=("fill", *_ROLES), help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.events > SAMPLE and options.events % SAMPLE:
        parser.error(f"--events above {SAMPLE:,} must be a multiple of it: the sample is taken whole")
    if options.role:
        settings = load_settings(home=options.home, max_batch_rows=_BATCH)
        if options.role == "fill":
            _fill(settings, options.events)
            figures = {}
        else:
            figures = _ROLES[options.role](settings)
        print(json.dumps(figures))
        return 0
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        progress(f"filling bronze with {options.events:,} records")
        _in_its_own_process("fill", Path(folder), options.events)
        found = {role: _in_its_own_process(role, Path(folder), options.events) for role in _ROLES}
    ratio = _report(options.events, found)
    print(f"Silver is {ratio:.2f} times as fast, at least {WANTED} is wanted.")
    return int(ratio < WANTED)


if __name__ == "__main__":
    sys.exit(main())
