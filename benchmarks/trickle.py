"""Do files stay few and micro-batches quick over a day of small commits, with maintenance every hour?"""

import argparse
import sys
from dataclasses import dataclass, field
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import fill_bronze
from gold.job import publish
from lakehouse.contracts import TABLES
from lakehouse.job import Run, Watcher
from lakehouse.maintenance_job import maintain
from lakehouse.settings import Settings
from lakehouse.tables import Lakehouse
from silver.refine_job import refine

MOST_FILES, MOST_GROWTH = 100, 1.2
EVENTS = 50  # of a commit
WARM_UP = 0.05  # of the batches
_JOBS = {"refine": refine, "publish": publish}


@dataclass
class Day(Watcher):
    """Watches jobs, and has maintenance run each time an hour's worth of commits has been done.

    Args:
        spark: the application's session.
        settings: of the home.
        hour: commits of an hour.
    """

    spark: SparkSession
    settings: Settings
    hour: int
    seconds: dict[str, list[float]] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def advance(self, job: str, rows: int, seconds: float) -> None:
        """Note a micro-batch; at the full hour tidy up and count files."""
        times = self.seconds.setdefault(job, [])
        times.append(seconds)
        if len(times) % self.hour == 0:
            before = self._count()
            maintain(Run("maintenance", self.spark.newSession(), self.settings, once=True))
            after = self._count()
            self.files = {name: max(count, self.files.get(name, 0)) for name, count in after.items()}
            most = max(before, key=lambda name: before[name])
            progress(f"{job}, {len(times)} commits: {most} {before[most]} files, {after[most]} after")

    def _count(self) -> dict[str, int]:
        lake = Lakehouse(self.spark.newSession(), self.settings, "bench")
        there = [name for name in TABLES if lake.is_there(name)]
        return {name: len(lake.read(name).inputFiles()) for name in there}


def run(commits: int, hours: int, jobs: list[str]) -> Day:
    """A day of so many commits, by each job in turn."""
    with application() as (spark, settings):
        settings = settings.model_copy(update={"max_batch_rows": EVENTS})
        day = Day(spark, settings, max(commits // hours, 1))
        fill_bronze(Lakehouse(spark.newSession(), settings, "ingest"), commits * EVENTS, EVENTS)
        for name in jobs:
            _JOBS[name](Run(name, spark.newSession(), settings, once=True, watcher=day))
        return day


def main() -> None:
    """Run the benchmark and fail if files or times grow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24, help="maintenance runs so often")
    parser.add_argument("--jobs", nargs="+", choices=_JOBS, default=list(_JOBS))
    given = parser.parse_args()
    day = run(given.commits, given.hours, given.jobs)
    rows, worst = [], 0.0
    for job, times in day.seconds.items():
        steady = times[int(len(times) * WARM_UP) :]
        part = max(len(steady) // 5, 1)
        first, last = median(steady[:part]), median(steady[-part:])
        worst = max(worst, last / first)
        rows.append([job, f"{len(times):,}", f"{first:.2f}", f"{last:.2f}", f"{last / first:.2f}"])
    title = f"Seconds per micro-batch of {EVENTS} events: median of the first and the last fifth"
    print_table(title, ["", "batches", "first", "last", "last / first"], rows)
    files = sorted(day.files.items(), key=lambda item: -item[1])
    print_table(
        "Most live files after maintenance", ["", "files"], [[name, str(count)] for name, count in files]
    )
    if worst > MOST_GROWTH or max(day.files.values(), default=0) >= MOST_FILES:
        sys.exit(f"grown: {worst:.2f} x, {files[0][1]} files")


if __name__ == "__main__":
    main()
