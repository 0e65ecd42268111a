"""What does parsing cost: the pure function, and Spark's Python workers, for few and many records?"""

import argparse
import sys
import time
from collections.abc import Callable
from itertools import islice
from statistics import median

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import fill_bronze
from folds.records.outcomes import Record
from folds.records.parse import parse
from folds.records.parse_rules import ParseRules, load_parse_rules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from millrace.sample_shop.traffic_stream import DEFAULT_SEED, generate
from silver.parsing.record_parser import RecordParser

FEW, MANY = 5_000, 300_000
_WARM_UP, _MEASURED = 2, 3


def main() -> int:
    """Print CPU and wall seconds: of the first round, and the median of warm rounds."""
    argparse.ArgumentParser(prog="python -m benchmarks.parsing", description=__doc__).parse_args()
    with application() as (spark, settings):
        lake = Lakehouse(spark, settings, "refine")
        fill_bronze(lake, MANY, MANY)
        rules = load_parse_rules(settings.conf)
        parser = RecordParser(rules, settings.side_topics)
        everything = checkpoint(lake.read(KAFKA_RECORDS.name))

        def run(records: DataFrame) -> None:
            parser.parse(records).write.format("noop").mode("overwrite").save()

        def read_few(number: int) -> None:
            run(everything.where(F.col("offset").between(number * FEW, (number + 1) * FEW - 1)))

        rows = [
            [f"{FEW:,} records, each time others", *_rounds(spark, read_few)],
            [f"{MANY:,} records, each time the same", *_rounds(spark, lambda _: run(everything))],
        ]
        rows.append([f"{MANY:,} records, the function alone, one process", *_alone(rules)])
    columns = ["", "first, processor s", "first, wall s", "warm, processor s", "warm, wall s"]
    print_table("seconds to parse", columns, rows)
    return 0


def _alone(rules: ParseRules) -> list[str]:
    sent = list(islice(generate(DEFAULT_SEED, MANY), MANY))
    records = [Record(each.value, 1_790_000_000_000_000) for each in sent]
    return _measure(lambda _: [parse(record, rules) for record in records], psutil.Process())


def _rounds(spark: SparkSession, read: Callable[[int], object]) -> list[str]:
    java = psutil.Process(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # noqa: SLF001
    return _measure(read, java)


def _measure(run: Callable[[int], object], process: psutil.Process) -> list[str]:
    """CPU and wall seconds; CPU includes child processes."""
    took = []
    for number in range(_WARM_UP + _MEASURED):
        before, start = _processor_seconds(process), time.perf_counter()
        run(number)
        took.append((_processor_seconds(process) - before, time.perf_counter() - start))
        progress(f"{took[-1][0]:.2f} s, wall {took[-1][1]:.2f} s")
    warm = [median(column) for column in zip(*took[_WARM_UP:], strict=True)]
    return [f"{seconds:.2f}" for seconds in (*took[0], *warm)]


def _processor_seconds(process: psutil.Process) -> float:
    own = process.children(recursive=True)
    return sum(sum(each.cpu_times()[:2]) for each in (process, *own))


if __name__ == "__main__":
    sys.exit(main())
