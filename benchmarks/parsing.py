"""What parsing costs, a stage at a time or operator by operator: few new records, and many of the same."""

import argparse
import sys
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import fill_bronze
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.frames import settle
from lakehouse.tables import Lakehouse
from lakehouse.tuning import unfused
from silver.parse import load_rules
from silver.reading import Reader

FEW, MANY = 5_000, 100_000
_WARM_UP, _MEASURED = 3, 7


def main() -> int:
    """Print processor seconds, the median of some rounds, once Java is warm."""
    argparse.ArgumentParser(prog="python -m benchmarks.parsing", description=__doc__).parse_args()
    with application() as (spark, settings):
        lake = Lakehouse(spark, settings, "refine")
        fill_bronze(lake, MANY, MANY)
        reader = Reader(load_rules(settings.conf), settings.exchange_rates_topic)
        everything = settle(lake.read(KAFKA_RECORDS.name))
        rows = []
        for name, fused in (("a stage at a time", True), ("operator by operator", False)):
            few = _rounds(spark, reader, lambda at: _part(everything, at), fused)
            many = _rounds(spark, reader, lambda _: everything, fused)
            rows.append([name, f"{few:.2f}", f"{many:.2f}"])
    columns = ["", f"{FEW:,} records, each time others", f"{MANY:,} records, each time the same"]
    print_table("processor seconds to parse", columns, rows)
    return 0


def _part(everything: DataFrame, at: int) -> DataFrame:
    return everything.where(F.col("offset").between(at * FEW, (at + 1) * FEW - 1))


def _rounds(spark: SparkSession, reader: Reader, records: Callable[[int], DataFrame], fused: bool) -> float:
    java = psutil.Process(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # noqa: SLF001
    took = []
    for number in range(_WARM_UP + _MEASURED):
        before = sum(java.cpu_times()[:2])
        with nullcontext() if fused else unfused(spark):
            settle(reader.read_quickly(records(number)))
        took.append(sum(java.cpu_times()[:2]) - before)
        progress(f"{took[-1]:.2f} s")
    return median(took[_WARM_UP:])


if __name__ == "__main__":
    sys.exit(main())
