"""What do differences of windows cost: in DuckDB on the driver, and in Spark?"""

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median

import pyarrow as pa

from benchmarks.bench import application, print_table, progress
from folds.windows.window_rules import STANDARD, windows_of
from gold.traffic.differences import ADDED, window_differences
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.driver_or_spark import as_frame

_EACH, _NEW = 5, 3  # minutes per visitor, and new ones among them
_SPAN = 40  # range of all minutes
_START, _MINUTE = 1_767_268_800_000_000, 60_000_000
_TIMES = 4  # runs of each variant; the first is not counted


def main() -> int:
    """Print median seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__)
    parser.add_argument("--visitors", type=int, default=20_000)
    visitors = parser.parse_args().visitors
    minutes, windows = _minutes(visitors), windows_of(STANDARD, "UTC")
    shown = []
    with application() as (spark, _):
        frame = checkpoint(as_frame(spark, minutes))
        ways: dict[str, Callable[[], object]] = {
            "on the driver": lambda: window_differences(minutes, windows, known=0),
            "in Spark": lambda: checkpoint(as_frame(spark, window_differences(frame, windows, known=0))),
        }
        for way, work in ways.items():
            took = [_seconds(work, way) for _ in range(_TIMES)]
            shown.append([way, f"{median(took[1:]):.1f}"])
    title = f"{visitors * _EACH:,} minutes of visitors, {visitors * _NEW:,} of them new"
    print_table(title, ["", "s"], shown)
    return 0


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
        "minute": pa.array(minutes, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        "channel": pa.array([f"channel-{visitor % 8}" for visitor, _ in rows]),
        "by_events": pa.array([True] * len(rows)),
        "sequence": pa.array([int(number < _NEW) for _, number in rows], pa.int64()),
        **{name: pa.array([1] * len(rows), pa.int64()) for name in ADDED[:-1]},
        ADDED[-1]: pa.array([1] * len(rows), pa.int64()).cast(pa.decimal128(38, 4)),
    }
    return pa.table(columns)


if __name__ == "__main__":
    sys.exit(main())
