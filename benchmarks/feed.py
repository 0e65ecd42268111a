"""What does a change feed cost: Delta's own change data feed, or one derived from the log?"""

import argparse
import shutil
import statistics
import sys
import time
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.bench import application, print_table
from benchmarks.touch_rows import NOON, touch, touches
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import TOUCHES
from lakehouse.contracts.table import DELETED
from lakehouse.delta.changes import read_changes
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.batch_settings import BatchSettings
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros

_NAME = TOUCHES.name
_FILES = 10
_CHANGE_DATA = f"ALTER TABLE {_NAME} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"


def updated(spark: SparkSession, numbers: range, round_: int) -> DataFrame:
    """Touches that are updated in this round, each once, checkpointed."""
    rows = [touch(number, f"visit {round_}") for number in numbers]
    frame = to_frame(spark, pa.Table.from_pylist(rows, arrow_schema(TOUCHES)))
    return checkpoint(frame.withColumn(DELETED, F.lit(False)))


def bytes_in(folder: Path) -> int:
    """Bytes of all files of a table, its log too."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def filled(spark: SparkSession, settings: Settings, history: int, has_change_data: bool) -> Lakehouse:
    """A new table, in ten files."""
    spark.sql(f"DROP TABLE IF EXISTS {_NAME}")
    shutil.rmtree(settings.warehouse / _NAME.replace(".", "/"), ignore_errors=True)
    BatchSettings(spark).choose(1)
    lake = Lakehouse(spark, settings, "feed")
    for part in range(_FILES):
        lake.append(_NAME, touches(part * history // _FILES, history // _FILES))
    if has_change_data:
        spark.sql(_CHANGE_DATA)
    return lake


def measure(lake: Lakehouse, numbers: range, times: int, has_change_data: bool) -> tuple[float, float, float]:
    """Median seconds of a commit, bytes it adds, and median seconds to read its changes."""
    commits, sizes, reads = [], [], []
    folder = lake.settings.warehouse / _NAME.replace(".", "/")
    low, high = (to_micros(NOON) + number * 1_000_000 for number in (numbers.start, numbers[-1]))
    scope = Scope(None, "touched_at", TimePruner([(low, high)]))
    for round_ in range(times + 1):
        changes, before = updated(lake.spark, numbers, round_), bytes_in(folder)
        began = time.monotonic()
        lake.merge_changes(_NAME, changes, NOON, scope)
        commits.append(time.monotonic() - began)
        sizes.append(bytes_in(folder) - before)
        began = time.monotonic()
        found = _changes(folder, has_change_data)
        reads.append(time.monotonic() - began)
        if found != len(numbers):
            raise AssertionError(f"{found} changes, not {len(numbers)}")
    commit, size, read = (statistics.median(values[1:]) for values in (commits, sizes, reads))  # warm
    return commit, size, read


def _changes(folder: Path, has_change_data: bool) -> int:
    """Number of changes of the last commit, which are read."""
    version = DeltaTable(folder).version()
    if has_change_data:
        return int(pa.table(DeltaTable(folder).load_cdf(starting_version=version)).num_rows) // 2
    return int(read_changes(folder, TOUCHES, version - 1, version).num_rows)


def main() -> int:
    """Run, and print the medians."""
    parser = argparse.ArgumentParser(prog="make bench-feed", description=__doc__)
    parser.add_argument("--history", type=int, default=200_000, help="rows in the table, in ten files")
    parser.add_argument("--rows", type=int, default=500, help="of a merge")
    parser.add_argument("--times", type=int, default=7, help="each is done, of which the median counts")
    options = parser.parse_args()
    history, rows = options.history, options.rows
    recent, scattered = range(history - rows, history), range(0, history, history // rows)
    table = []
    with application() as (spark, settings):
        for place, numbers in (("the last rows, in one file", recent), ("rows of all files", scattered)):
            for kind, has_change_data in (
                ("derived from the log", False),
                ("Delta's change data feed", True),
            ):
                lake = filled(spark, settings, history, has_change_data)
                commit, size, read = measure(lake, numbers, options.times, has_change_data)
                figures = (f"{1000 * commit:,.0f}", f"{size / 1000:,.0f}", f"{1000 * read:,.0f}")
                table.append([f"{place}: {kind}", *figures])
    title = f"Medians of a merge of {rows:,} rows into {history:,}"
    print_table(title, ["", "commit ms", "kB written", "read changes ms"], table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
