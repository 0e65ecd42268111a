"""Do tables keep few files and micro-batches stay fast over a day of small commits with maintenance?"""

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import trickle_in
from gold.publish_job import publish
from lakehouse.contracts import TABLES
from lakehouse.delta.ddl import exists
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.entry_point import Body
from lakehouse.maintenance.maintenance_job import maintain
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.ledger_cache import exclusive_ledger
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH
from millrace.local.engine.fair_semaphore import FairSemaphore
from silver.refine_job import refine
from silver.repair_job import repair

MOST_FILES, MOST_GROWTH = 100, 1.2
EVENTS = 50  # per commit
WARM_UP = 0.05  # share of the commits
_PACE = timedelta(minutes=5)  # interval of repair and of summaries: the day runs about fifteen times as fast
_JOBS: dict[str, Body] = {"refine": refine, "repair": repair, "publish": publish}
_ROUND = "until it is in gold"


@dataclass
class Pipeline:
    """The jobs after ingest, each long-running in its own thread, with one slot as under `millrace up`.

    Args:
        spark: the Spark session.
        settings: settings of the home.
    """

    spark: SparkSession
    settings: Settings
    stop: threading.Event = field(default_factory=threading.Event)
    turns: FairSemaphore = field(default_factory=lambda: FairSemaphore(1))
    failed: list[BaseException] = field(default_factory=list)

    def run_of(self, job: str) -> JobContext:
        """The context of a job."""
        spark = self.spark.newSession()
        return JobContext(job, spark, self.settings, once=False, stop=self.stop, slot=self.turns)

    @contextmanager
    def going_on(self) -> Iterator[Ledger]:
        """Run the jobs in the background. Yields their ledger."""
        threads = [threading.Thread(target=self._keep, args=job) for job in _JOBS.items()]
        for thread in threads:
            thread.start()
        try:
            yield Ledger(Lakehouse(self.spark.newSession(), self.settings, "bench"))
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()

    def _keep(self, name: str, body: Body) -> None:
        try:
            body(self.run_of(name))
        except BaseException as error:
            self.failed.append(error)
            raise

    def wait_for(self, ledger: Ledger, stamp: datetime) -> None:
        """Wait until publish has processed an ingest stamp.

        Raises:
            RuntimeError: if a job has failed.
        """
        while True:
            sequence, last = ledger.sequence, ledger.last("publish")
            if last and last.position >= stamp:
                return
            if self.failed:
                raise RuntimeError("a job has failed") from self.failed[0]
            ledger.wait(sequence, 1.0, self.stop)


@dataclass
class Day:
    """The results of a day.

    Args:
        seconds: seconds of the micro-batches by job, and from each commit until it was in gold.
        files: maximum number of live files of each table before a maintenance run.
        tidying: seconds of each maintenance run.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    tidying: list[float] = field(default_factory=list)


def run(commits: int, tidied: int) -> Day:
    """Run a day of commits one after the other, with maintenance at regular intervals."""
    with application() as (spark, settings), exclusive_ledger(settings):
        paced = settings.model_copy(update={"repair_interval": _PACE, "summary_interval": _PACE})
        day, pipeline = Day(), Pipeline(spark, paced)
        ingest = pipeline.run_of("ingest")
        ingest.tune_for_batch(0)
        arriving = trickle_in(ingest.lake, commits * EVENTS, EVENTS)
        due = {round(commits * part / tidied) for part in range(1, tidied + 1)}
        rounds = day.seconds.setdefault(_ROUND, [])
        with pipeline.going_on() as ledger:
            for number, stamp in enumerate(arriving, 1):
                began = time.monotonic()
                pipeline.wait_for(ledger, stamp)
                rounds.append(time.monotonic() - began)
                if number in due:
                    _tidy_up(pipeline, day, number)
        for job in _JOBS:
            day.seconds[job] = [entry.seconds for entry in ledger.after(job, EPOCH) if entry.input_rows]
        return day


def _tidy_up(pipeline: Pipeline, day: Day, number: int) -> None:
    files = _count(pipeline)
    for name, count in files.items():
        day.files[name] = max(count, day.files.get(name, 0))
    began = time.monotonic()
    maintain(pipeline.run_of("maintenance"))
    day.tidying.append(time.monotonic() - began)
    most = max(files, key=lambda name: files[name])
    last = median(day.seconds[_ROUND][-10:])
    progress(f"{number} commits: {last:.1f} s each, {files[most]} files in {most}")


def _count(pipeline: Pipeline) -> dict[str, int]:
    lake = Lakehouse(pipeline.spark.newSession(), pipeline.settings, "bench")
    return {
        name: len(lake.read(name).inputFiles()) for name in TABLES if exists(lake.spark, lake.settings, name)
    }


def main() -> None:
    """Run the benchmark and fail if files or times grow."""
    parser = argparse.ArgumentParser(prog="make bench-trickle", description=__doc__)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--tidied", type=int, default=48, help="how often maintenance runs in the day")
    given = parser.parse_args()
    day = run(given.commits, given.tidied)
    rows, worst = [], 0.0
    for name, times in day.seconds.items():
        steady = times[int(len(times) * WARM_UP) :]
        part = max(len(steady) // 5, 1)
        first, last = median(steady[:part]), median(steady[-part:])
        worst = max(worst, last / first)
        rows.append([name, f"{len(times):,}", f"{first:.2f}", f"{last:.2f}", f"{last / first:.2f}"])
    title = f"Seconds per micro-batch of {EVENTS} events: median of the first and the last fifth"
    print_table(title, ["", "batches", "first", "last", "last / first"], rows)
    files = sorted(day.files.items(), key=lambda item: -item[1])
    counted = [[name, str(count)] for name, count in files]
    print_table("Most live files, counted before each maintenance", ["", "files"], counted)
    print(f"Maintenance: {len(day.tidying)} times, {median(day.tidying):.1f} s in the middle.")
    if worst > MOST_GROWTH or files[0][1] >= MOST_FILES:
        sys.exit(f"grown: {worst:.2f} x, {files[0][1]} files")


if __name__ == "__main__":
    main()
