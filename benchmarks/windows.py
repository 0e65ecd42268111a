"""What do differences of windows cost in Spark, interpreted and compiled?"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.bench import application, print_table, progress
from folds.windows.window_rules import STANDARD, windows_of
from gold.traffic.differences import MINUTE, window_differences
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.batch_settings import SMALL_BATCH_ROWS, BatchSettings

_EACH, _NEW = 5, 3  # minutes per visitor, and new ones among them
_SPAN = 40  # range of all minutes
_START, _MINUTE = 1_767_268_800_000_000, 60_000_000
_TIMES = 4  # runs of each variant; the first is not counted


def main() -> int:
    """Print median seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__)
    parser.add_argument("--visitors", type=int, default=20_000)
    visitors = parser.parse_args().visitors
    shown = []
    with application() as (spark, _):
        for way, rows in (("interpreted", 0), ("compiled", SMALL_BATCH_ROWS)):
            session = spark.newSession()
            BatchSettings(session).choose(rows)
            took = [_seconds(_work(session, visitors), way) for _ in range(_TIMES)]
            shown.append([way, f"{median(took[1:]):.1f}"])
    title = f"{visitors * _EACH:,} minutes of visitors, {visitors * _NEW:,} of them new"
    print_table(title, ["", "s"], shown)
    return 0


def _work(spark: SparkSession, visitors: int) -> Callable[[], object]:
    minutes = checkpoint(to_frame(spark, _minutes(visitors)))
    differences = window_differences(minutes, windows_of(STANDARD, "UTC"), known=0)
    return partial(checkpoint, differences)


def _seconds(work: Callable[[], object], way: str) -> float:
    began = time.monotonic()
    work()
    took = time.monotonic() - began
    progress(f"{way}: {took:.1f} s")
    return took


def _minutes(visitors: int) -> pa.Table:
    """Rows of gold.visitor_minutes for short visits, ordered by visitor."""
    rows = [(visitor, number) for visitor in range(visitors) for number in range(_EACH)]
    minutes = [_START + (visitor * 7 + number) % _SPAN * _MINUTE for visitor, number in rows]
    columns = {
        "visitor_id": pa.array([f"visitor-{visitor}" for visitor, _ in rows]),
        "minute": pa.array(minutes, pa.int64()),
        "channel": pa.array([f"channel-{visitor % 8}" for visitor, _ in rows]),
        "by_events": pa.array([True] * len(rows)),
        "sequence": pa.array([int(number < _NEW) for _, number in rows], pa.int64()),
    }
    ones = pa.array([1] * len(rows), pa.int64())
    measures = {name: ones for name in MINUTE if name not in columns}
    return pa.table({**columns, **measures, "value": ones.cast(pa.decimal128(38, 4))})


if __name__ == "__main__":
    sys.exit(main())
