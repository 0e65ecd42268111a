"""How long does a micro-batch of refine take: a large one, and small ones with many open rows?"""

import argparse
import json
import os
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import psutil
from pyspark.sql import functions as F

from benchmarks.bench import print_table
from benchmarks.bronze_traffic import trickle_in
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext, JobListener
from lakehouse.run.spark_session import build_session
from lakehouse.settings import load_settings
from millrace.environment.jars import spark_jars
from silver.refine_job import refine


class _Batches(JobListener):
    """Collects the seconds of each micro-batch."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        self.seconds.append(round(seconds, 2))


def _processor() -> float:
    """CPU seconds of this process and its child processes: Java and Python workers."""
    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measure(home: Path, events: int, small: int, batches: int) -> dict[str, object]:
    """Seconds and CPU seconds of one large micro-batch, then of small ones."""
    settings = load_settings(home=home, max_batch_rows=events)
    spark = build_session(settings, spark_jars())
    stamps = trickle_in(Lakehouse(spark, settings, "ingest"), events, small)
    for _ in range(events // small - batches):
        next(stamps)
    found: dict[str, object] = {}
    run_all = partial(_run, spark, home)
    found["large"] = run_all(events)
    for _ in stamps:
        pass
    found["small"] = run_all(small)
    for table in ("sessions", "impressions", "searches"):
        rows = spark.table(f"silver.{table}")
        found[table] = [rows.where("is_open").count(), rows.count()]
        kept = [name for name in rows.columns if name != "due_at"]
        found[f"{table} hash"] = rows.select(F.sum(F.xxhash64(*kept).cast("decimal(38)"))).collect()[0][0]
    spark.stop()
    return found


def _run(spark: object, home: Path, rows: int) -> dict[str, object]:
    watcher, before, started = _Batches(), _processor(), time.monotonic()
    settings = load_settings(home=home, max_batch_rows=rows)
    refine(JobContext("refine", spark, settings, once=True, listener=watcher))  # type: ignore[arg-type]
    return {
        "batches": watcher.seconds,
        "seconds": round(time.monotonic() - started, 1),
        "processor": round(_processor() - before, 1),
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refine_batches", description=__doc__)
    parser.add_argument("--events", type=int, default=300_000, help="records in all, a multiple of 100,000")
    parser.add_argument("--small", type=int, default=5_000, help="records of a small micro-batch")
    parser.add_argument("--batches", type=int, default=8, help="small micro-batches")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        found = measure(Path(folder), options.events, options.small, options.batches)
    print(json.dumps(found, default=str))
    rows = []
    for kind in ("large", "small"):
        figures: dict[str, list[float]] = found[kind]  # type: ignore[assignment]
        middle = statistics.median(figures["batches"])
        rows.append([kind, f"{middle:.2f}", f"{figures['seconds']}", f"{figures['processor']}"])
    title = f"{options.events:,} records, {os.cpu_count()} cores"
    print_table(title, ["micro-batches", "median s", "s in all", "processor s"], rows)


if __name__ == "__main__":
    main()
