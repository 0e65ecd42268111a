"""What does it cost to replace open rows of silver.search_results, against a MERGE into the table?

The table is as at 1,000 events a second after half an hour: 640 results a second, each open for ten minutes.
A micro-batch has 25 seconds of them, closes as many, and marks 300 as clicked.
"""

import argparse
import shutil
import sys
import time
from datetime import datetime, timedelta, timezone
from statistics import median

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.bench import application, print_table, progress
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.batch_settings import BatchSettings
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros

_NAME = SEARCH_RESULTS.name
_BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_A_SECOND, _BATCH, _OPEN, _HISTORY = 640, 25, 600, 1800
_CLICKED_OF = 90 * _A_SECOND // 300  # one of so many results of the last 90 seconds is clicked
_MERGED, _REPLACED = "MERGE", "partition replaced"


def main() -> int:
    """Print median seconds, and processor seconds of Java and Python workers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.open_rows", description=__doc__)
    parser.add_argument("--batches", type=int, default=12, help="each way; the first third is not counted")
    batches = parser.parse_args().batches
    shown = []
    with application() as (spark, settings):
        for way in 2 * (_MERGED, _REPLACED):  # twice: Java is warm in the second round
            laps = _write(spark, settings, way, batches)[batches // 3 :]
            shown.append([way, *(f"{median(lap[of] for lap in laps):.1f}" for of in (0, 1))])
    print_table("a micro-batch", ["", "s", "processor s"], shown)
    return 0


def _write(spark: SparkSession, settings: Settings, way: str, batches: int) -> list[tuple[float, float]]:
    spark.sql(f"DROP TABLE IF EXISTS {_NAME}")
    shutil.rmtree(settings.warehouse / _NAME.replace(".", "/"), ignore_errors=True)
    lake = Lakehouse(spark, settings, "benchmark")
    lake.files_per_append = 2
    BatchSettings(spark).choose(_BATCH * 1000)
    lake.append(_NAME, _rows(spark, 0, _HISTORY, _HISTORY), _BEGIN)
    laps = []
    for number in range(batches):
        now = _HISTORY + number * _BATCH
        changes = checkpoint(_changes(lake, now, number))
        near = TimePruner.of_spans([(_micros(now - _OPEN - 1), _micros(now + _BATCH))])
        scope = Scope("is_open" if way == _REPLACED else None, SEARCH_RESULTS.event_time, near)
        start, used = time.monotonic(), _processor_seconds()
        lake.merge_changes(_NAME, changes, _BEGIN, scope)
        laps.append((time.monotonic() - start, _processor_seconds() - used))
        progress(f"{way} {number + 1}: {laps[-1][0]:.1f} s")
    return laps


def _changes(lake: Lakehouse, now: int, number: int) -> DataFrame:
    """New rows, rows that are due, and rows that are clicked."""
    nothing = F.lit(None).cast("timestamp")
    known = lake.read(_NAME).where("is_open")
    due = known.where(F.col("due_at") <= F.lit(_at(now + _BATCH)))
    recent = known.where((F.col("event_time") > F.lit(_at(now - 90))) & (F.rand(number) < 1 / _CLICKED_OF))
    closed = due.withColumn("outcome", F.lit("unclicked")).unionByName(
        recent.withColumns({"outcome": F.lit("clicked"), "first_click_at": F.lit(_at(now))})
    )
    closed = closed.withColumns({"is_open": F.lit(False), "due_at": nothing})
    return (
        _rows(lake.spark, now, now + _BATCH, now + _BATCH)
        .unionByName(closed)
        .withColumn(DELETED, F.lit(False))
    )


def _rows(spark: SparkSession, first: int, after: int, watermark: int) -> DataFrame:
    """Results of searches of some seconds, sixteen for each search."""
    number, search = F.col("id"), F.floor(F.col("id") / 16)
    at = F.lit(_BEGIN) + F.make_dt_interval(secs=(number / _A_SECOND).cast("decimal(18,6)"))
    due_at = at + F.make_dt_interval(secs=F.lit(_OPEN))
    is_open = due_at > F.lit(_at(watermark))
    values = {
        "search_event_id": F.md5(search.cast("string")),
        "visitor_id": F.md5((search % 50_000).cast("string")),
        "query": F.concat(F.lit("query "), search % 300),
        "event_time": at,
        "rank": number % 16 + 1,
        "product_id": F.concat(F.lit("product-"), F.hash(number) % 500),
        "outcome": F.when(is_open, "open").otherwise("unclicked"),
        "first_click_at": F.lit(None),
        "is_open": is_open,
        "due_at": F.when(is_open, due_at),
    }
    columns = (values[each.name].cast(each.type).alias(each.name) for each in SEARCH_RESULTS.columns)
    return spark.range(first * _A_SECOND, after * _A_SECOND).select(*columns)


def _at(second: int) -> datetime:
    return _BEGIN + timedelta(seconds=second)


def _micros(second: int) -> int:
    return to_micros(_at(second))


def _processor_seconds() -> float:
    times = (each.cpu_times() for each in psutil.Process().children(recursive=True))
    return sum(each.user + each.system for each in times)


if __name__ == "__main__":
    sys.exit(main())
