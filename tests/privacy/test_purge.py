"""An erasure removes all files that are not in the latest version, also those that were never committed."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from bronze.job import ingest
from kit.home import Home
from kit.records import message, record
from kit.spark import empty_home
from kit.topics import open_topic
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.exclusive import lock_of
from lakehouse.erasure.purge import purge
from lakehouse.run.job import JobContext

AT = datetime(2026, 11, 2, tzinfo=timezone.utc)
RECORDS = "bronze.kafka_records"
ROWS = {
    RECORDS: {"topic": "events", "partition": 0, "offset": 1, "ingested_at": AT},
    "silver.impressions": {"event_id": "e", "visitor_id": "v", "event_time": AT, "is_open": False},
    "gold.touches": {"touch_id": "t", "visitor_id": "v", "touched_at": AT, "event_id": "e"},
}


def data_files(folder: Path) -> set[Path]:
    return {file for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts}


@pytest.mark.parametrize(
    "name", [RECORDS, *(pytest.param(name, marks=pytest.mark.long) for name in ROWS if name != RECORDS)]
)
def test_files_of_killed_jobs_and_of_old_versions_are_removed(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    settings = empty_home(spark, tmp_path)
    append_rows(tmp_path, name, [ROWS[name]])
    replace_rows(tmp_path, name, [ROWS[name]])
    folder = settings.warehouse.joinpath(*name.split("."))
    file = next(iter(data_files(folder)))
    shutil.copy(file, file.with_name("part-00000-never-committed.parquet"))
    assert len(data_files(folder)) == 3
    lake = Lakehouse(spark.newSession(), settings, "erase")
    lake.read(name)  # declares the table
    assert purge(lake.spark, name, folder)
    assert data_files(folder) == {Path(uri) for uri in DeltaTable(folder).file_uris()}
    assert lake.read(name).count() == 1


def test_ingest_holds_the_lock_of_bronze_while_it_writes(
    spark: SparkSession, new_home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    home: Home = new_home()
    empty_home(spark, home.path)
    append_once, was_locked = Lakehouse.append_once, []

    def noting(lake: Lakehouse, *arguments: Any) -> None:
        with ThreadPoolExecutor(1) as other:
            lock = lock_of(home.settings.warehouse, KAFKA_RECORDS.name)
            was_locked.append(not other.submit(lock.acquire, False).result())
        append_once(lake, *arguments)

    monkeypatch.setattr(Lakehouse, "append_once", noting)
    with open_topic(home) as topic:
        topic.send([record(message("e-1", "v-1", "page", AT))])
        ingest(JobContext("ingest", spark.newSession(), home.settings, once=True))
    assert was_locked
    assert all(was_locked)
