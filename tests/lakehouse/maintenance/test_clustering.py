"""A table whose last rows are swapped again and again: its file does not grow for good."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kit.folding import assert_changes_fold
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import NOON, Bronze
from kit.scenarios import cut, story_events
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.contracts import TABLES
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES
from lakehouse.contracts.silver import SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.maintenance import compaction, maintenance_job
from lakehouse.maintenance.clustering import recluster_by_time
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings

NAME = CONVERSIONS.name
MOST = 10
HOUR = timedelta(hours=1)


def put(settings: Settings, hours: Iterable[int]) -> None:
    """A conversion an hour, in one file, in no order."""
    rows = [{"conversion_id": f"{hour:03}", "converted_at": NOON + hour * HOUR} for hour in hours]
    Random(1).shuffle(rows)
    append_rows(settings.home, NAME, rows)


def stretches(settings: Settings) -> list[tuple[datetime, datetime, int, str]]:
    """Of each file: first time, last time, rows, and its name."""
    files = pl.DataFrame(table(settings).get_add_actions(flatten=True))
    return sorted(files.select("min.converted_at", "max.converted_at", "num_records", "path").rows())


def table(settings: Settings) -> DeltaTable:
    return DeltaTable(settings.warehouse / NAME.replace(".", "/"))


def hours_of(settings: Settings) -> list[Any]:
    return sorted(row["conversion_id"] for row in read_rows(settings, NAME, ["conversion_id"]))


def test_a_file_that_has_grown_is_laid_out_by_time_and_older_ones_stay(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "maintenance")
    put(settings, range(2 * MOST))
    put(settings, range(2 * MOST, 75))
    (older, grown) = stretches(settings)
    assert recluster_by_time(lake, NAME, MOST) == grown[2]
    now = stretches(settings)
    assert now[0] == older
    assert all(rows <= 2 * MOST for _, _, rows, _ in now)
    assert all(last < first for (_, last, *_), (first, *_) in pairwise(now))
    assert hours_of(settings) == [f"{hour:03}" for hour in range(75)]
    assert recluster_by_time(lake, NAME, MOST) == 0
    assert stretches(settings) == now


def test_what_other_files_hold_of_that_time_goes_with_it(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "maintenance")
    put(settings, [*range(5), 30, 31])
    put(settings, range(5, 30))
    assert recluster_by_time(lake, NAME, MOST) == 27
    now = stretches(settings)
    assert now[0][2] == 5
    assert all(last < first for (_, last, *_), (first, *_) in pairwise(now))
    assert hours_of(settings) == [f"{hour:03}" for hour in range(32)]


def test_open_rows_are_left_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "maintenance")

    def sessions(is_open: bool, number: int) -> None:
        rows = [
            {"session_id": f"{is_open} {at}", "started_at": NOON + at * HOUR, "is_open": is_open}
            for at in range(number)
        ]
        append_rows(settings.home, SESSIONS.name, rows)

    sessions(is_open=True, number=50)
    sessions(is_open=False, number=2 * MOST)
    assert recluster_by_time(lake, SESSIONS.name, MOST) == 0
    sessions(is_open=False, number=50)
    assert recluster_by_time(lake, SESSIONS.name, MOST) == 2 * MOST + 50
    assert lake.read(SESSIONS.name).where("is_open").count() == 50
    assert len(lake.read(SESSIONS.name).where("is_open").inputFiles()) == 1


@pytest.fixture
def tiny_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance_job, "recluster_by_time", partial(recluster_by_time, most=MOST))
    monkeypatch.setattr(compaction, "MAX_ROWS_PER_MUTABLE_FILE", MOST)


def maintain(spark: SparkSession, settings: Settings) -> None:
    maintenance_job.maintain(JobContext("maintenance", spark.newSession(), settings, once=True))


@pytest.mark.usefixtures("tiny_files")
def test_files_do_not_grow_past_what_they_should_hold_and_are_not_put_together_past_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    put(settings, range(60))
    for hour in range(60, 80):
        put(settings, [hour])
    maintain(spark, settings)
    assert all(rows <= 2 * MOST for _, _, rows, _ in stretches(settings))
    assert len(stretches(settings)) < 20
    assert hours_of(settings) == [f"{hour:03}" for hour in range(80)]
    version = table(settings).version()
    maintain(spark, settings)
    assert table(settings).version() == version


@pytest.mark.usefixtures("tiny_files")
@pytest.mark.long
def test_stories_come_out_as_the_oracle_says_though_files_are_laid_out_between(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    *early, last = cut(story_events(30))
    bronze.commit([record for records in early for record in records])
    run_jobs(spark, settings)
    before = {name: DeltaTable(path).version() for name, path in swapped(settings).items()}
    maintain(spark, settings)
    changed = {name for name, path in swapped(settings).items() if DeltaTable(path).version() > before[name]}
    assert changed >= {TOUCHES.name, ATTRIBUTION.name, SESSIONS.name}
    bronze.commit(last)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 2


def swapped(settings: Settings) -> dict[str, Path]:
    names = (name for name, each in TABLES.items() if each.is_mutable)
    return {name: settings.warehouse / name.replace(".", "/") for name in names}
