"""Removing the content of records in the middle of a job's micro-batch, in a catalog."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kit.frames import frame_of
from kit.records import BRONZE, NOON, SENT, Bronze, Record
from kit.spark import empty_home
from lakehouse.contracts.silver import LOCK, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.exclusive import lock_of
from lakehouse.erasure.blank_records import PLACE, blank_records
from lakehouse.errors import ConcurrentChangeError
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.settings import Settings

HEADERS = (("node", b"1"), ("trace", b"2"))


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Any) -> Iterator[Settings]:
    """A home as a catalog, with three records in bronze."""
    settings = empty_home(spark, tmp_path).model_copy(update={"catalog": "spark_catalog"})
    Bronze(spark, settings).commit([Record(value, HEADERS, key=b"k") for value in (b"a", b"b", b"c")])
    yield settings
    empty_home(spark, tmp_path)


def application(spark: SparkSession, settings: Settings, job: str) -> Lakehouse:
    return Lakehouse(spark.newSession(), settings, job)


def places(lake: Lakehouse, *offsets: int) -> DataFrame:
    records = lake.read(BRONZE).select(*PLACE, "ingested_at")
    return checkpoint(records.where(records["offset"].isin(*offsets)))


def append_session(lake: Lakehouse) -> None:
    row = {"session_id": lake.job, "visitor_id": "v", "started_at": NOON, "is_open": True}
    lake.append(SESSIONS.name, frame_of(lake.spark, SESSIONS.name, [row]))


def test_content_is_removed_under_the_lock_of_ingest(
    spark: SparkSession, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, is_free = application(spark, settings, "refine"), []
    lock, merge = lock_of(settings.warehouse, BRONZE), lake.merge_changes

    def checked_merge(*given: Any, **more: Any) -> None:
        with ThreadPoolExecutor(1) as threads:
            is_free.append(threads.submit(lock.acquire, blocking=False).result())
        merge(*given, **more)

    monkeypatch.setattr(lake, "merge_changes", checked_merge)
    for _ in range(2):
        blank_records(lake, places(lake, 0, 2), SENT)
    assert is_free == [False], "the second time nothing is left to remove"
    rows = lake.read(BRONZE).orderBy("offset").select("key", "value", "headers.key").collect()
    blank = (None, None, ["node"])
    assert [tuple(row) for row in rows] == [blank, (b"k", b"b", ["node", "trace"]), blank]


def test_conflicts_of_the_micro_batch_are_still_found(spark: SparkSession, settings: Settings) -> None:
    lake, other = (application(spark, settings, job) for job in ("refine", "rebuild"))
    with lake.exclusive(LOCK):
        lake.read(SESSIONS.name)
        append_session(other)
        blank_records(lake, places(lake, 1), SENT)
        with pytest.raises(ConcurrentChangeError, match=r"has changed silver\.sessions"):
            append_session(lake)
