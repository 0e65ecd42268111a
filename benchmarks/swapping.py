"""What does a merge of few rows cost, and reading the table afterwards?

Compares one file that is rewritten, files split by time, and deletion vectors.
"""

import argparse
import shutil
import sys
import time
from datetime import datetime, timedelta, timezone
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.bench import application, print_table, progress
from lakehouse.contracts.gold import ATTRIBUTION
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.batch_settings import BatchSettings
from lakehouse.settings import Settings

_NAME = ATTRIBUTION.name
_BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_NEW, _GOING = 1_500, 20  # rows that each merge inserts and deletes
_ANEW, _BY_TIME, _VECTORS = "one file, written anew", "files by time, written anew", "vectors"


def main() -> int:
    """Print median milliseconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.swapping", description=__doc__)
    parser.add_argument("--rows", type=int, default=90_000, help="in the table before the first swap")
    parser.add_argument("--among", type=int, help="how many of the last rows may go; all if not given")
    parser.add_argument("--swaps", type=int, default=16, help="each way; the first half is not counted")
    options = parser.parse_args()
    rows, among, swaps = options.rows, options.among or options.rows, options.swaps
    shown = []
    with application() as (spark, settings):
        for way in 2 * (_ANEW, _BY_TIME, _VECTORS):  # twice: Java is warm in the second round
            laps = _swap(spark, settings, rows, among, swaps, way)[swaps // 2 :]
            medians = [f"{1000 * median(lap[of] for lap in laps):.0f}" for of in (0, 1)]
            shown.append([way, *medians])
    print_table(f"{rows:,} rows, {_NEW:,} come and {_GOING} go; ms", ["", "the swap", "reading all"], shown)
    return 0


def _swap(
    spark: SparkSession, settings: Settings, rows: int, among: int, swaps: int, way: str
) -> list[tuple[float, float]]:
    """Seconds of each merge, and of reading the table afterwards."""
    spark.sql(f"DROP TABLE IF EXISTS {_NAME}")
    shutil.rmtree(settings.warehouse / _NAME.replace(".", "/"), ignore_errors=True)
    vectors = str(way == _VECTORS).lower()
    spark.conf.set("spark.databricks.delta.properties.defaults.enableDeletionVectors", vectors)
    lake = Lakehouse(spark, settings, "swapping")
    BatchSettings(spark).choose(1)
    if way == _BY_TIME:
        lake.overwrite(_NAME, _rows(spark, 0, rows))
    else:
        lake.append(_NAME, _rows(spark, 0, rows), _BEGAN)
    laps = []
    for number in range(swaps):
        first = rows + number * _NEW
        last = F.col("converted_at") >= F.lit(_BEGAN + timedelta(seconds=first - among))
        going = checkpoint(lake.read(_NAME).where(last).orderBy(F.rand(number)).limit(_GOING))
        coming = _rows(spark, first, first + _NEW).withColumn(DELETED, F.lit(False))
        changes = checkpoint(coming.unionByName(going.withColumn(DELETED, F.lit(True))))
        began = time.monotonic()
        lake.merge_changes(_NAME, changes, _BEGAN, Scope())
        swapped = time.monotonic()
        lake.read(_NAME).where("credit > 0.5").count()
        laps.append((swapped - began, time.monotonic() - swapped))
        progress(f"{way} {number + 1}: {laps[-1][0]:.2f} s, {laps[-1][1]:.2f} s")
    return laps


def _rows(spark: SparkSession, first: int, after: int) -> DataFrame:
    """Rows of gold.attribution, one per second, with at most 1,000 distinct values per column."""
    number = F.col("id") % 1000
    by_type = {
        "string": F.concat(F.lit("value-"), number),
        "timestamp": F.lit(_BEGAN) + F.make_dt_interval(secs=F.col("id")),
    }
    values = {column.name: by_type.get(column.type, number) for column in ATTRIBUTION.columns}
    values["conversion_id"] = F.concat(F.lit("conversion-"), F.col("id"))
    return spark.range(first, after).select(
        *(values[column.name].cast(column.type).alias(column.name) for column in ATTRIBUTION.columns)
    )


if __name__ == "__main__":
    sys.exit(main())
