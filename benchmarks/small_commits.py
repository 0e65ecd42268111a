"""What do a lookup, an append and a merge of few rows cost: through Spark, and without a Spark job?"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pyarrow as pa

from benchmarks.bench import application, print_table
from lakehouse.contracts.arrow import arrow_schema, typed
from lakehouse.contracts.gold import TOUCHES
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import to_micros

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
_MINUTE = timedelta(minutes=1)


def touches(first: int, count: int) -> pa.Table:
    """Touches one second apart, each of a different visitor; times in microseconds."""
    start, numbers = to_micros(NOON), range(first, first + count)
    rows = [
        {
            "touch_id": f"t{n:09}",
            "visitor_id": f"v{n:09}",
            "touched_at": start + n * 1_000_000,
            "kind": "visit",
        }
        for n in numbers
    ]
    fields = [
        pa.field(each.name, pa.int64()) if pa.types.is_timestamp(each.type) else each
        for each in arrow_schema(TOUCHES)
    ]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def measure(lake: Lakehouse, history: int, rows: int, times: int) -> list[tuple[str, float, float]]:
    """Median seconds by operation, through Spark and without a Spark job."""
    name, spark = TOUCHES.name, lake.spark
    for part in range(10):
        lake.append(name, touches(part * history // 10, history // 10), NOON)
    changes = touches(history - rows, rows).append_column(DELETED, pa.repeat(pa.scalar(False), rows))
    scope = Scope(time="touched_at", low=to_micros(NOON), high=to_micros(NOON) + history * 1_000_000)
    low = to_micros(NOON) + (history - rows) * 1_000_000
    wanted = Lookup(
        TOUCHES.column_names,
        TimePruner([(low, low + 10**12)]),
        "touched_at",
        key=("visitor_id", [f"v{history - n:09}" for n in range(1, 601)]),
    )
    added = iter(range(history, history + 10_000 * rows, rows))
    done: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "look up 600 visitors": (
            lambda: wanted.of_frame(lake.read(name)).toArrow(),
            lambda: lake.find(name, wanted),
        ),
        f"append {rows:,} rows": (
            lambda: lake.append(name, to_frame(spark, typed(TOUCHES, touches(next(added), rows)))),
            lambda: lake.append(name, touches(next(added), rows)),
        ),
        f"merge {rows:,} rows": (
            lambda: lake.merge_changes(
                name, checkpoint(to_frame(spark, typed(TOUCHES, changes))), NOON, scope
            ),
            lambda: lake.merge_changes(name, changes, NOON, scope),
        ),
    }
    return [(what, _median(one, times), _median(other, times)) for what, (one, other) in done.items()]


def _median(task: Callable[[], object], times: int) -> float:
    seconds = []
    for _ in range(times + 1):  # the first warms up
        began = time.monotonic()
        task()
        seconds.append(time.monotonic() - began)
    return statistics.median(seconds[1:])


def main() -> int:
    """Run, and print the medians."""
    parser = argparse.ArgumentParser(prog="make bench-small-commits", description=__doc__)
    parser.add_argument("--history", type=int, default=100_000, help="rows in the table, in ten commits")
    parser.add_argument("--rows", type=int, default=1_000, help="of an append and of a merge")
    parser.add_argument("--times", type=int, default=7, help="each is done, of which the median counts")
    options = parser.parse_args()
    with application() as (spark, settings):
        lake = Lakehouse(spark.newSession(), settings, "publish")
        lake.coalesce_writes = True
        lake.spark.conf.set("spark.sql.shuffle.partitions", "1")
        found = measure(lake, options.history, options.rows, options.times)
    rows = [[what, f"{1000 * ours:,.0f}", f"{1000 * theirs:,.0f}"] for what, ours, theirs in found]
    title = f"Median ms, with {options.history:,} rows in the table"
    print_table(title, ["", "Spark", "without a job"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
