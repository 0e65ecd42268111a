"""What does Delta's file listing cost: for the first query of a table version, and for the second?"""

import argparse
import sys
import time
from datetime import datetime
from statistics import median

import psutil
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.bench import application, print_table, progress
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.batch_settings import BatchSettings
from lakehouse.run.ledger import NAME, Entry, Ledger, now

_WARM_UP, _MEASURED = 60, 30  # commits
_STEPS = ("a commit of one row", "files of a query, first time", "once more")


class _Clock:
    """Wall milliseconds and Java's CPU milliseconds since the last call."""

    def __init__(self, spark: SparkSession) -> None:
        self._java = psutil.Process(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # noqa: SLF001
        self._at = self._now()

    def lap(self) -> tuple[float, float]:
        before, self._at = self._at, self._now()
        return 1000 * (self._at[0] - before[0]), 1000 * (self._at[1] - before[1])

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), sum(self._java.cpu_times()[:2])


def main() -> int:
    """Print median milliseconds over 30 commits, after a warm-up."""
    argparse.ArgumentParser(prog="python -m benchmarks.listing", description=__doc__).parse_args()
    laps = []
    with application() as (spark, settings):
        BatchSettings(spark).choose(1)
        lake = Lakehouse(spark, settings, "listing")
        ledger, clock = Ledger(lake), _Clock(spark)
        for number in range(_WARM_UP + _MEASURED):
            at = now()
            clock.lap()
            ledger.record(Entry("listing", number, at, at, 0.0, 1))
            committed = clock.lap()
            _plan(lake, at)
            first = clock.lap()
            _plan(lake, at)
            laps.append((committed, first, clock.lap()))
            progress(f"commit {number + 1}: {', '.join(f'{wall:.0f} ms' for wall, _ in laps[-1])}")
    measured = laps[_WARM_UP:]
    rows = [
        [step, *(f"{median(lap[place][of] for lap in measured):.0f}" for of in (0, 1))]
        for place, step in enumerate(_STEPS)
    ]
    print_table("milliseconds, planning alone", ["", "wall", "Java's processors"], rows)
    return 0


def _plan(lake: Lakehouse, since: datetime) -> None:
    """Plan a query of the newest rows without running it. Delta lists its files during planning."""
    rows = lake.read(NAME).where(F.col("started_at") >= F.lit(since))
    rows._jdf.queryExecution().optimizedPlan()  # noqa: SLF001


if __name__ == "__main__":
    sys.exit(main())
