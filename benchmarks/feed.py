"""What does a change feed cost: Delta's own change data feed, or one derived from the log?"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from benchmarks.bench import print_table
from benchmarks.small_commits import NOON, touches
from lakehouse.contracts.gold import TOUCHES
from lakehouse.contracts.table import DELETED
from lakehouse.delta.changes import read_changes
from lakehouse.delta.local_tables import LocalTables
from lakehouse.delta.merge import Scope
from lakehouse.timestamps import to_micros

_FILES = 10
_CHANGE_DATA = {"delta.enableChangeDataFeed": "true"}
_SECOND = 1_000_000


def merged(numbers: range, round_: int) -> pa.Table:
    """Touches that are updated in this round, each once."""
    first = pa.concat_tables([touches(number, 1) for number in numbers])
    kind = pa.array([f"visit {round_}"] * first.num_rows)
    rows = first.set_column(first.column_names.index("kind"), "kind", kind)
    return rows.append_column(DELETED, pa.repeat(pa.scalar(False), rows.num_rows))


def bytes_in(folder: Path) -> int:
    """Bytes of all files of a table, its log too."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure(
    history: int, numbers: range, times: int, properties: Mapping[str, str]
) -> tuple[float, float, float]:
    """Median seconds of a commit, bytes it adds, and median seconds to read its changes."""
    commits, sizes, reads = [], [], []
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as home:
        tables, folder = LocalTables(Path(home)), Path(home, *TOUCHES.name.split("."))
        tables.ensure(TOUCHES, properties)
        for part in range(_FILES):
            tables.append(TOUCHES, touches(part * history // _FILES, history // _FILES), {})
        low, high = (to_micros(NOON) + number * _SECOND for number in (numbers.start, numbers[-1]))
        for round_ in range(times + 1):
            changes, before = merged(numbers, round_), bytes_in(folder)
            began = time.monotonic()
            tables.merge(TOUCHES, changes, Scope(time="touched_at", low=low, high=high), {})
            commits.append(time.monotonic() - began)
            sizes.append(bytes_in(folder) - before)
            version = DeltaTable(folder).version()
            began = time.monotonic()
            if properties:
                found = pa.table(DeltaTable(folder).load_cdf(starting_version=version)).num_rows // 2
            else:
                found = read_changes(folder, TOUCHES, version - 1, version).num_rows
            reads.append(time.monotonic() - began)
            if found != len(numbers):
                raise AssertionError(f"{found} changes, not {len(numbers)}")
    return tuple(statistics.median(values[1:]) for values in (commits, sizes, reads))  # the first warms up


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
    for place, numbers in (("the last rows, in one file", recent), ("rows of all files", scattered)):
        for kind, properties in (("derived from the log", {}), ("Delta's change data feed", _CHANGE_DATA)):
            commit, size, read = measure(history, numbers, options.times, properties)
            table.append(
                [f"{place}: {kind}", f"{1000 * commit:,.0f}", f"{size / 1000:,.0f}", f"{1000 * read:,.0f}"]
            )
    title = f"Medians of a merge of {rows:,} rows into {history:,}"
    print_table(title, ["", "commit ms", "kB written", "read changes ms"], table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
