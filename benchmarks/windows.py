"""What it takes to count visitors and events by window: queries interpreted, and compiled."""

import argparse
import sys
import time
from datetime import datetime, timedelta, timezone
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.bench import application, print_table, progress
from gold.windows import COUNTS, change_windows
from lakehouse.frames import settle
from lakehouse.tuning import MANY, Tuning

_VISITORS, _EACH, _NEW = 20_000, 5, 3  # visitors; their minutes, and how many of these are new
_SPAN = timedelta(minutes=40)  # that all lie in
_TIMES = 4  # each way; the first is not counted


def main() -> int:
    """Print seconds, the median."""
    argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__).parse_args()
    took: dict[str, list[float]] = {"interpreted": [], "compiled": []}
    with application() as (spark, _):
        tuning, minutes = Tuning(spark), settle(_minutes(spark))
        for number in range(_TIMES):
            for way, rows in (("interpreted", 1), ("compiled", MANY)):
                tuning.prepare_for(rows, behind=0)
                began = time.monotonic()
                settle(change_windows(minutes, "UTC"))
                took[way].append(time.monotonic() - began)
                progress(f"{number + 1}, {way}: {took[way][-1]:.1f} s")
    rows = [[way, f"{median(seconds[1:]):.1f}"] for way, seconds in took.items()]
    print_table(f"{_VISITORS * _EACH:,} minutes, {_VISITORS * _NEW:,} of them new", ["", "s"], rows)
    return 0


def _minutes(spark: SparkSession) -> DataFrame:
    """What gold.traffic is asked to take in, as visits of some minutes leave it."""
    number, visitor = F.col("id"), F.col("id") % _VISITORS
    began = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    offset = (visitor * 7 + F.floor(number / _VISITORS)) % (_SPAN // timedelta(minutes=1))
    return spark.range(_VISITORS * _EACH).select(
        F.concat(F.lit("visitor-"), visitor).alias("visitor_id"),
        (F.lit(began) + F.make_dt_interval(mins=offset.cast("int"))).alias("minute"),
        F.concat(F.lit("channel-"), visitor % 8).alias("channel"),
        *(F.lit(1).cast("bigint").alias(name) for name in COUNTS),
        F.lit(0).cast("decimal(38,4)").alias("value"),
        (number < _VISITORS * _NEW).alias("is_new"),
    )


if __name__ == "__main__":
    sys.exit(main())
