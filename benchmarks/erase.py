"""What does it take to erase 1, 100 and 10,000 people: seconds by step, and bytes that are written?"""

import argparse
import random
import shutil
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import SAMPLE, fill_bronze
from gold.publish_job import publish
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext, JobListener
from lakehouse.settings import Settings, load_settings
from millrace.operations.erase import erase_job
from privacy.erasure.work_folder import WorkFolder
from privacy.identities import Person
from privacy.requests.register import Register
from silver.refine_job import refine
from silver.repair_job import repair

PEOPLE = (1, 100, 10_000)
_BATCH = 300_000  # records per ingest stamp
_JOBS = {"refine": refine, "repair": repair, "publish": publish}
_STEPS = ("select", "shop", "silver", "bronze", "gold", "reads", "files", "purge")


class _StepTimes(JobListener):
    """Seconds by step: each is logged when it begins."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}

    def log(self, job: str, line: str) -> None:
        self.began.setdefault(line, time.monotonic())

    def seconds(self, end: float) -> list[str]:
        times = [*(self.began[step] for step in _STEPS), end]
        return [f"{after - at:.1f}" for at, after in pairwise(times)]


def main() -> None:
    """Fill a home, run the jobs, and erase people from copies of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=SAMPLE, help="records in bronze")
    parser.add_argument("--people", type=int, nargs="+", default=PEOPLE, help="people who are erased at once")
    given = parser.parse_args()
    with application() as (spark, settings):
        progress(f"filling bronze with {given.events:,} records")
        fill_bronze(Lakehouse(spark.newSession(), settings, "ingest"), given.events, _BATCH)
        for name, job in _JOBS.items():
            clock = time.monotonic()
            job(JobContext(name, spark.newSession(), settings, once=True))
            progress(f"{name}: {time.monotonic() - clock:.1f} s")
        copies = {count: _copy(settings, count) for count in given.people}
        rows = [_measure(spark, home, count) for count, home in copies.items()]
    columns = ("people", "records", "s", *_STEPS, "MB before", "MB written")
    print_table(f"Erasures from {given.events:,} events", columns, rows)


def _copy(full: Settings, count: int) -> Path:
    """Copy a home, before any is measured: a database that is dropped takes its files along."""
    return shutil.copytree(full.home / "warehouse", full.home / f"copy-{count}" / "warehouse").parent


def _measure(spark: SparkSession, home: Path, count: int) -> Sequence[str]:
    """Erase some people from a copy of a home: a row of the table."""
    for layer in ("bronze", "silver", "gold", "ops"):
        spark.sql(f"DROP DATABASE IF EXISTS {layer} CASCADE")
    settings = load_settings(home=home)
    request, people = _request(settings, count)
    before = _sizes(settings.warehouse)
    times, clock, job = _StepTimes(), time.monotonic(), erase_job(request)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True, listener=times))
    end = time.monotonic()
    new = [file for file in settings.warehouse.rglob("*") if file.is_file() and file not in before]
    megabytes = [
        f"{sum(sizes) / 1e6:.1f}" for sizes in (before.values(), (each.stat().st_size for each in new))
    ]
    records = Register(home).find(request).note.split()[0]
    progress(f"{people:,} people: {end - clock:.1f} s")
    shutil.rmtree(home)
    return [f"{people:,}", records, f"{end - clock:.1f}", *times.seconds(end), *megabytes]


def _sizes(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_size for file in folder.rglob("*") if file.is_file()}


def _request(settings: Settings, count: int) -> tuple[str, int]:
    """A request of some visitors and their users, and the number of visitors."""
    folder = str(settings.warehouse / "silver" / "events")
    events = pl.read_delta(folder, columns=["visitor_id", "user_id"])
    known = sorted(events["visitor_id"].unique())
    chosen = random.Random(7).sample(known, min(count, len(known)))
    users = events.filter(pl.col("visitor_id").is_in(chosen))["user_id"].drop_nulls()
    person = Person(frozenset(users), frozenset(chosen))
    register = Register(settings.home)
    at = datetime.now(timezone.utc)
    request = register.open(person.identities, "benchmark", at, timedelta(days=30)).id
    WorkFolder(settings.home, request).start(person)
    return request, len(chosen)


if __name__ == "__main__":
    main()
