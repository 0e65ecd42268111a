"""Maintenance: fewer files, the same rows, and nobody who works beside it notices."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from delta.exceptions import ConcurrentDeleteReadException
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kit.frames import frame_of
from kit.pipeline import read_rows
from kit.records import NOON
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.ops import READS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.maintenance import maintenance_job
from lakehouse.maintenance.compaction import MIN_FILES, Compacted
from lakehouse.maintenance.maintenance_job import maintain
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.settings import LEAST_RETENTION, Settings

COMMITS = 40
HOUR = timedelta(hours=1)


def at(hour: int) -> datetime:
    return NOON + hour * HOUR


def fill(home: Path, commits: int = COMMITS) -> None:
    """A row an hour, each in a commit and a file of its own."""
    for hour in range(commits):
        append_rows(home, CONVERSIONS.name, [{"conversion_id": f"{hour:03}", "converted_at": at(hour)}])


def tidy(spark: SparkSession, settings: Settings) -> None:
    maintain(JobContext("maintenance", spark.newSession(), settings, once=True))


def table(home: Path, name: str) -> DeltaTable:
    return DeltaTable(home / "warehouse" / name.replace(".", "/"))


def on_disk(home: Path, name: str) -> int:
    return sum(1 for _ in (home / "warehouse" / name.replace(".", "/")).glob("*.parquet"))


def leave_file(home: Path, name: str, age: timedelta) -> Path:
    """A file so old that no commit tells of, as a writer leaves it that died."""
    file = home / "warehouse" / name.replace(".", "/") / "part-left.snappy.parquet"
    file.touch()
    made = time.time() - age.total_seconds()
    os.utime(file, (made, made))
    return file


def rows(settings: Settings) -> list[dict[str, Any]]:
    return sorted(read_rows(settings, CONVERSIONS.name, ("conversion_id", "converted_at")), key=str)


def test_small_files_are_put_together_and_hold_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    fill(tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.append(CONVERSIONS.name, lake.read(CONVERSIONS.name).limit(1), upto=NOON, sequence=7)
    before, changes = rows(settings), lake.rewrite_count(CONVERSIONS.name)
    tidy(spark, settings)
    assert len(table(tmp_path, CONVERSIONS.name).file_uris()) == 1
    assert rows(settings) == before
    assert lake.rewrite_count(CONVERSIONS.name) == changes
    assert lake.last_commit(CONVERSIONS.name)["sequence"] == 7
    (last, *_) = table(tmp_path, CONVERSIONS.name).history(1)
    assert last["operation"] == "OPTIMIZE"
    tidy(spark, settings)
    assert table(tmp_path, CONVERSIONS.name).history(1) == [last]  # nothing to do: no commit


def test_few_files_are_left_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    fill(tmp_path, MIN_FILES)
    tidy(spark, settings)
    assert len(table(tmp_path, CONVERSIONS.name).file_uris()) == MIN_FILES


@pytest.mark.parametrize(("kept", "left"), [(timedelta(days=7), COMMITS + 1), (timedelta(0), 1)])
def test_replaced_files_stay_as_long_as_is_set(
    spark: SparkSession, tmp_path: Path, kept: timedelta, left: int
) -> None:
    settings = empty_home(spark, tmp_path).model_copy(
        update={"vacuum_retention": kept, "feed_retention": kept}
    )
    fill(tmp_path)
    tidy(spark, settings)
    assert on_disk(tmp_path, CONVERSIONS.name) == left


@pytest.mark.parametrize(("kept", "age", "stays"), [(1, 2, False), (30, 20, True)])
def test_what_is_set_is_longer_or_shorter_than_the_week_that_delta_keeps(
    spark: SparkSession, tmp_path: Path, kept: int, age: int, stays: bool
) -> None:
    settings = empty_home(
        spark, tmp_path, vacuum_retention=timedelta(days=kept), feed_retention=LEAST_RETENTION
    )
    fill(tmp_path, 1)
    left = leave_file(tmp_path, CONVERSIONS.name, timedelta(days=age))
    tidy(spark, settings)
    assert left.exists() == stays
    commits = table(tmp_path, CONVERSIONS.name).version()
    tidy(spark, settings)
    assert table(tmp_path, CONVERSIONS.name).version() == commits  # the table was told once


@pytest.mark.parametrize(("kept", "looks"), [(timedelta(days=7), 4), (timedelta(0), 10)])
def test_a_process_looks_for_what_is_to_be_removed_28_times_in_the_time_that_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: timedelta, looks: int
) -> None:
    clock, removed = [1000.0], list[str]()
    monkeypatch.setattr(maintenance_job, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(maintenance_job, "set_retention", lambda *_: None)
    monkeypatch.setattr(maintenance_job, "compact", lambda *_: Compacted(1, 1))
    monkeypatch.setattr(maintenance_job, "vacuum", lambda _spark, name: removed.append(name))
    monkeypatch.setattr(maintenance_job, "retention", lambda *_: kept)
    monkeypatch.setattr(maintenance_job, "Ledger", lambda _lake: SimpleNamespace(positions=dict))
    monkeypatch.setattr(maintenance_job, "exists", lambda *known: known[-1] == CONVERSIONS.name)
    lake = SimpleNamespace(read=lambda _name: None, exclusive=lambda _name: nullcontext())
    settings = SimpleNamespace(catalog="main", vacuum_retention=kept, feed_retention=kept, warehouse=tmp_path)
    run: Any = SimpleNamespace(
        lake=lake,
        settings=settings,
        spark=None,
        stop=Event(),
        slot=nullcontext(),
        report_backlog=lambda _rows: None,
        log=lambda _line: None,
        report_batch=lambda _rows, _seconds: None,
    )
    for _ in range(10):  # every two hours; a part is six
        maintain(run)
        clock[0] += timedelta(hours=2).total_seconds()
    assert removed == [CONVERSIONS.name] * looks


def test_a_table_that_another_application_rewrites_is_left_for_the_next_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collide(*_: object) -> None:
        raise ConcurrentDeleteReadException("DELTA_CONCURRENT_DELETE_READ")

    settings = empty_home(spark, tmp_path)
    fill(tmp_path, 1)
    monkeypatch.setattr(maintenance_job, "compact", collide)
    tidy(spark, settings)
    assert len(table(tmp_path, CONVERSIONS.name).file_uris()) == 1


def test_the_log_of_before_yesterday_goes_when_a_checkpoint_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    left = {}
    for name, key in ((CONVERSIONS.name, "conversion_id"), (SESSIONS.name, "session_id")):
        lake.read(name)  # made by Spark, with what it says of new tables
        append_rows(tmp_path, name, [{key: "1"}])
        row = checkpoint(lake.read(name))
        lake.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.checkpointInterval' = '4')")
        log = tmp_path / "warehouse" / name.replace(".", "/") / "_delta_log"
        lake.append(name, row, upto=NOON)
        before = sorted(log.glob("*.json"))
        for file in before:
            days = time.time() - timedelta(days=3).total_seconds()
            os.utime(file, (days, days))
        lake.append(name, row, upto=NOON)
        lake.append(name, row, upto=NOON)
        lake.append(name, row, upto=NOON)
        left[name] = sum(file.exists() for file in before)
        assert lake.read(name).count() == 5
    assert left == {CONVERSIONS.name: 0, SESSIONS.name: 4}


def test_a_stream_goes_on_meanwhile(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are not committed yet belong to no version: the time that is kept guards them."""
    settings = empty_home(spark, tmp_path, vacuum_retention=LEAST_RETENTION)
    monkeypatch.setattr(
        maintenance_job, "_VACUUM_INTERVAL_SHARE", 0
    )  # each time it looks for what is to be removed
    name = KAFKA_RECORDS.name
    for offset in range(COMMITS):
        append_rows(tmp_path, name, [{"topic": "events", "partition": 0, "offset": offset}])

    def stream() -> None:
        lake = Lakehouse(spark.newSession(), settings, "ingest")
        for batch in range(8):
            row = {"topic": "more", "partition": 0, "offset": batch}
            lake.append_once(name, frame_of(lake.spark, name, [row]), "query", batch)

    with ThreadPoolExecutor(1) as pool:
        streaming = pool.submit(stream)
        while not streaming.done():
            left = leave_file(tmp_path, name, 2 * LEAST_RETENTION)
            tidy(spark, settings)
            assert not left.exists()
    streaming.result()
    tidy(spark, settings)
    found = [(row["topic"], row["offset"]) for row in read_rows(settings, name, ("topic", "offset"))]
    wanted = [("events", offset) for offset in range(COMMITS)] + [("more", batch) for batch in range(8)]
    assert sorted(found) == wanted


def test_statistics_are_of_what_files_are_left_out_by(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.append(EVENTS.name, frame_of(lake.spark, EVENTS.name, [{"event_id": "1"}]))
    reported = table(tmp_path, EVENTS.name).get_add_actions(flatten=True).schema.names
    assert {name.removeprefix("null_count.") for name in reported if name.startswith("null_count.")} == set(
        EVENTS.stats_columns
    )


def test_feed_retention_keeps_files_and_log_entries_of_silver_and_gold(
    spark: SparkSession, tmp_path: Path
) -> None:
    week, month = timedelta(days=7), timedelta(days=30)
    for feed, files, log, log_of_two in (
        (week, 168, 168, 168),
        (month, 720, 720, 720),
        (week / 7, 168, 24, 168),
    ):
        settings = empty_home(spark, tmp_path, vacuum_retention=week, feed_retention=feed)
        lake = Lakehouse(spark.newSession(), settings, "test")
        for name in (CONVERSIONS.name, SESSIONS.name, KAFKA_RECORDS.name):
            lake.read(name)
        tidy(spark, settings)
        assert retention_of(tmp_path, CONVERSIONS.name) == (files, log)
        assert retention_of(tmp_path, SESSIONS.name) == (files, log_of_two)
        assert retention_of(tmp_path, KAFKA_RECORDS.name) == (168, log)


def retention_of(home: Path, name: str) -> tuple[int, ...]:
    """Hours that a table keeps removed files and log entries."""
    found = table(home, name).metadata().configuration
    texts = [found[f"delta.{kind}RetentionDuration"] for kind in ("deletedFile", "log")]
    return tuple(int(text.split()[1]) for text in texts)


def test_reads_expire_after_90_days_and_other_rows_stay(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance_job, "_VACUUMED_AT", {})
    settings = empty_home(spark, tmp_path)
    fill(tmp_path, 1)
    now = datetime.now(timezone.utc)
    ages = [timedelta(days=90, minutes=5), timedelta(days=90, minutes=-5), timedelta(0)]
    append_rows(tmp_path, READS.name, [{"read_at": now - age, "version": n} for n, age in enumerate(ages)])
    tidy(spark, settings)
    assert sorted(table(tmp_path, READS.name).to_pyarrow_table()["version"].to_pylist()) == [1, 2]
    assert len(rows(settings)) == 1
    version = table(tmp_path, READS.name).version()
    maintenance_job._VACUUMED_AT.clear()
    tidy(spark, settings)
    assert table(tmp_path, READS.name).version() == version, "nothing had expired: no commit"
