"""The maintenance job: fewer files with the same rows, and no effect on concurrent jobs."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
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
from lakehouse.maintenance import file_sizes, maintenance_job
from lakehouse.maintenance.compaction import delete_expired, maintained_table, set_retention
from lakehouse.maintenance.file_sizes import MIN_FILES
from lakehouse.maintenance.maintenance_job import maintain
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.settings import LEAST_RETENTION, Settings

pytestmark = pytest.mark.long

COMMITS = MIN_FILES + 2
BATCHES = 4
NAME = CONVERSIONS.name
HOUR = timedelta(hours=1)


def hours_after_noon(hour: int) -> datetime:
    return NOON + hour * HOUR


def fill(home: Path, commits: int = COMMITS) -> None:
    """Write a row per hour, each in a separate commit and file."""
    for hour in range(commits):
        append_rows(
            home, CONVERSIONS.name, [{"conversion_id": f"{hour:03}", "converted_at": hours_after_noon(hour)}]
        )


def run_maintenance(spark: SparkSession, settings: Settings) -> None:
    maintain(JobContext("maintenance", spark.newSession(), settings, once=True))


def table(home: Path, name: str) -> DeltaTable:
    return DeltaTable(home / "warehouse" / name.replace(".", "/"))


def on_disk(home: Path, name: str) -> int:
    return sum(1 for _ in (home / "warehouse" / name.replace(".", "/")).glob("*.parquet"))


def leave_file(home: Path, name: str, age: timedelta) -> Path:
    """Leave an uncommitted file of the given age, as a killed writer does."""
    file = home / "warehouse" / name.replace(".", "/") / "part-left.snappy.parquet"
    file.touch()
    made = time.time() - age.total_seconds()
    os.utime(file, (made, made))
    return file


def rows(settings: Settings) -> list[dict[str, Any]]:
    return sorted(read_rows(settings, CONVERSIONS.name, ("conversion_id", "converted_at")), key=str)


def test_compaction_keeps_rows_and_replaced_files_until_retention_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A second run without work makes no commit."""
    settings = empty_home(spark, tmp_path)
    fill(tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.append(CONVERSIONS.name, lake.read(CONVERSIONS.name).limit(1), upto=NOON, sequence=7)
    before = rows(settings)
    run_maintenance(spark, settings)
    assert len(table(tmp_path, CONVERSIONS.name).file_uris()) == 1
    assert rows(settings) == before
    assert lake.last_commit(CONVERSIONS.name)["sequence"] == 7
    (last, *_) = table(tmp_path, CONVERSIONS.name).history(1)
    assert last["operation"] == "OPTIMIZE"
    run_maintenance(spark, settings)
    assert table(tmp_path, CONVERSIONS.name).history(1) == [last]  # nothing to do: no commit
    assert on_disk(tmp_path, CONVERSIONS.name) == COMMITS + 2
    none = {"vacuum_retention": timedelta(0), "feed_retention": timedelta(0)}
    run_maintenance(spark, settings.model_copy(update=none))
    assert on_disk(tmp_path, CONVERSIONS.name) == 1
    assert rows(settings) == before


@pytest.mark.parametrize(
    ("altered", "change"),
    [
        (
            "ADD COLUMN `added_by_hand` STRING",
            "UPDATE {} SET added_by_hand = 'x' WHERE conversion_id = '003'",
        ),
        pytest.param(
            "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
            "DELETE FROM {} WHERE conversion_id = 'a'",
            marks=pytest.mark.long,
        ),
    ],
)
def test_compaction_keeps_extra_column_and_removes_deleted_rows(
    spark: SparkSession, tmp_path: Path, altered: str, change: str
) -> None:
    settings = empty_home(spark, tmp_path)
    fill(tmp_path)
    append_rows(tmp_path, CONVERSIONS.name, [{"conversion_id": name} for name in "ab"])
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.create(CONVERSIONS.name)
    lake.spark.sql(f"ALTER TABLE {CONVERSIONS.name} {altered}")
    lake.spark.sql(change.format(CONVERSIONS.name))
    before = lake.read(CONVERSIONS.name).orderBy("conversion_id").collect()
    run_maintenance(spark, settings)
    assert table(tmp_path, CONVERSIONS.name).history(1)[0]["operation"] == "OPTIMIZE"
    assert len(table(tmp_path, CONVERSIONS.name).file_uris()) == 1
    assert lake.read(CONVERSIONS.name).orderBy("conversion_id").collect() == before


def sizes(home: Path, name: str) -> dict[str, int]:
    """Bytes of each live file."""
    files = pa.table(table(home, name).get_add_actions())
    return dict(zip(files["path"].to_pylist(), files["size_bytes"].to_pylist(), strict=True))


def test_compacted_files_stay_below_maximum_and_half_full_files_are_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = empty_home(spark, tmp_path)
    fill(tmp_path, 1)
    monkeypatch.setattr(
        file_sizes, "MAX_MUTABLE_FILE_BYTES", largest := 4 * max(sizes(tmp_path, NAME).values())
    )
    fill(tmp_path)
    large = [{"conversion_id": str(number), "url": uuid4().hex} for number in range(largest // 40)]
    append_rows(tmp_path, NAME, large)
    before = sizes(tmp_path, NAME)
    run_maintenance(spark, settings)
    after = sizes(tmp_path, NAME)
    (kept,) = before.keys() & after.keys()
    assert before[kept] == max(before.values()) >= largest / 2
    assert 1 + COMMITS / 4 <= len(after) < COMMITS / 2
    assert max(size for path, size in after.items() if path != kept) <= largest


def test_tables_of_python_processes_are_maintained_without_spark_commits(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark could overwrite a commit that such a process makes at the same time."""
    settings = empty_home(spark, tmp_path, vacuum_retention=timedelta(days=2))
    for version in range(COMMITS):
        append_rows(tmp_path, READS.name, [{"read_at": datetime.now(timezone.utc), "version": version}])
    left = leave_file(tmp_path, READS.name, timedelta(days=3))
    run_maintenance(spark, settings)
    assert not left.exists()
    reads = table(tmp_path, READS.name)
    assert len(reads.file_uris()) == 1
    assert sorted(reads.to_pyarrow_table()["version"].to_pylist()) == list(range(COMMITS))
    assert retention_of(tmp_path, READS.name, "deletedFile") == (48,)
    assert all("delta-rs" in commit["clientVersion"] for commit in reads.history())


def test_configured_retention_overrides_week_of_delta(spark: SparkSession, tmp_path: Path) -> None:
    """Files below the minimum number are not compacted."""
    settings = empty_home(spark, tmp_path)
    fill(tmp_path, MIN_FILES)
    for kept, age, stays in ((30, 20, True), (1, 2, False)):
        maintenance_job._VACUUMED_AT.clear()
        wanted = {"vacuum_retention": timedelta(days=kept), "feed_retention": LEAST_RETENTION}
        left = leave_file(tmp_path, CONVERSIONS.name, timedelta(days=age))
        run_maintenance(spark, settings.model_copy(update=wanted))
        assert left.exists() == stays
        assert retention_of(tmp_path, CONVERSIONS.name) == (kept * 24, LEAST_RETENTION // HOUR)
    commits = table(tmp_path, CONVERSIONS.name).version()
    run_maintenance(spark, settings.model_copy(update=wanted))
    assert table(tmp_path, CONVERSIONS.name).version() == commits  # the property is set once
    assert len(table(tmp_path, CONVERSIONS.name).file_uris()) == MIN_FILES


def test_checkpoint_deletes_log_entries_older_than_retention(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    left = {}
    for name, key in ((CONVERSIONS.name, "conversion_id"), (SESSIONS.name, "session_id")):
        lake.create(name)  # created by Spark, with its properties of new tables
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


def test_streaming_append_continues_during_maintenance(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uncommitted files belong to no version; only the retention protects them from vacuum."""
    settings = empty_home(spark, tmp_path, vacuum_retention=LEAST_RETENTION)
    monkeypatch.setattr(maintenance_job, "_VACUUM_INTERVAL_SHARE", 0)  # vacuum in every run
    name = KAFKA_RECORDS.name
    for offset in range(COMMITS):
        append_rows(tmp_path, name, [{"topic": "events", "partition": 0, "offset": offset}])

    def stream() -> None:
        lake = Lakehouse(spark.newSession(), settings, "ingest")
        for batch in range(BATCHES):
            row = {"topic": "more", "partition": 0, "offset": batch}
            lake.append_once(name, frame_of(lake.spark, name, [row]), "query", batch)

    with ThreadPoolExecutor(1) as pool:
        streaming = pool.submit(stream)
        while not streaming.done():
            left = leave_file(tmp_path, name, 2 * LEAST_RETENTION)
            run_maintenance(spark, settings)
            assert not left.exists()
    streaming.result()
    run_maintenance(spark, settings)
    found = [(row["topic"], row["offset"]) for row in read_rows(settings, name, ("topic", "offset"))]
    wanted = [("events", offset) for offset in range(COMMITS)] + [("more", batch) for batch in range(BATCHES)]
    assert sorted(found) == wanted


def test_data_files_have_statistics_of_stats_columns_only(spark: SparkSession, tmp_path: Path) -> None:
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
    settings = empty_home(spark, tmp_path, vacuum_retention=week, feed_retention=week)
    lake = Lakehouse(spark.newSession(), settings, "test")
    names = (CONVERSIONS.name, SESSIONS.name, KAFKA_RECORDS.name)
    for name in names:
        lake.create(name)
    for feed, files, log, log_of_two in (
        (week, 168, 168, 168),
        (month, 720, 720, 720),
        (week / 7, 168, 24, 168),
    ):
        for name in names:
            set_retention(maintained_table(lake, name), name, week, feed)
        assert retention_of(tmp_path, CONVERSIONS.name) == (files, log)
        assert retention_of(tmp_path, SESSIONS.name) == (files, log_of_two)
        assert retention_of(tmp_path, KAFKA_RECORDS.name, "deletedFile") == (168,)


def retention_of(home: Path, name: str, *kinds: str) -> tuple[int, ...]:
    """Hours that a table keeps removed files and log entries."""
    found = table(home, name).metadata().configuration
    texts = [found[f"delta.{kind}RetentionDuration"] for kind in kinds or ("deletedFile", "log")]
    return tuple(int(text.split()[1]) for text in texts)


def test_logged_reads_expire_after_90_days_and_other_rows_stay(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    fill(tmp_path, 1)
    now = datetime.now(timezone.utc)
    ages = [timedelta(days=90, minutes=5), timedelta(days=90, minutes=-5), timedelta(0)]
    append_rows(tmp_path, READS.name, [{"read_at": now - age, "version": n} for n, age in enumerate(ages)])
    lake = Lakehouse(spark.newSession(), settings, "test")
    versions = []
    for _ in range(2):
        for name in (READS.name, CONVERSIONS.name):
            delete_expired(maintained_table(lake, name), name, now)
        versions.append(table(tmp_path, READS.name).version())
    assert sorted(table(tmp_path, READS.name).to_pyarrow_table()["version"].to_pylist()) == [1, 2]
    assert len(rows(settings)) == 1
    assert versions == [1, 1], "nothing had expired: no commit"
