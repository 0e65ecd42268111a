"""Rows change without events only in the batch whose watermark reaches their `due_at`."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import NOON, Bronze, heartbeat, instant, message, record
from kit.spark import empty_home
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes
from silver import refine

pytestmark = pytest.mark.long

MINUTE = timedelta(minutes=1)
SEEN = "Promotion Viewed"


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """For each batch of refine, the number of changed rows by table."""
    found: list[dict[str, int]] = []

    def counted(changes: Any, tables: Any) -> Any:
        computed = checkpoint_changes(changes, tables)
        found.append({table: each.rows for table, each in computed[1].items() if each.rows})
        return computed

    monkeypatch.setattr(refine, "checkpoint_changes", counted)
    return found


def seen(visitor: str, minute: int) -> Any:
    properties = {"promotion_id": "p"}
    return record(message(f"{visitor}{minute}", visitor, SEEN, NOON + minute * MINUTE, properties=properties))


def test_batch_changes_only_rows_with_new_events_and_due_rows(
    spark: SparkSession, tmp_path: Path, changed: list[dict[str, int]]
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    batches = [
        ([seen("ann", 0), seen("bob", 5), seen("cid", 8)], {"silver.sessions": 3, "silver.impressions": 3}),
        ([seen("ann", 9)], {"silver.sessions": 1, "silver.impressions": 1}),
        ([heartbeat(instant(NOON + 40 * MINUTE))], {"silver.impressions": 1}),  # ann's first is unclicked
        ([heartbeat(instant(NOON + 45 * MINUTE))], {"silver.sessions": 1, "silver.impressions": 2}),
        ([heartbeat(instant(NOON + 45 * MINUTE))], {}),
    ]
    for records, wanted in batches:
        bronze.commit(records)
        run_jobs(spark, settings, "refine")
        assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
        assert changed[-1] == wanted


@pytest.mark.long
def test_rows_without_due_at_column_are_closed(
    spark: SparkSession, tmp_path: Path, changed: list[dict[str, int]]
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit([seen("ann", 0), seen("bob", 20)])
    run_jobs(spark, settings, "refine", "repair")
    lake = Lakehouse(spark.newSession(), settings, "test")
    for table in ("sessions", "impressions", "searches"):
        lake.create(f"silver.{table}")  # known to Spark from here
        spark.sql(f"ALTER TABLE silver.{table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
        spark.sql(f"ALTER TABLE silver.{table} DROP COLUMN due_at")
    bronze.commit([heartbeat(instant(NOON + 45 * MINUTE))])
    run_jobs(spark, settings, "refine", "repair")
    assert changed[-1] == {"silver.sessions": 2, "silver.impressions": 2}
    expected = Oracle.over(bronze.stored)
    found = spark.table("silver.sessions").select("visitor_id", "is_open", "due_at").collect()
    wanted = [(each["visitor_id"], each["is_open"]) for each in expected.sessions]
    assert sorted((row.visitor_id, row.is_open) for row in found) == sorted(wanted)
    assert [row.visitor_id for row in found if row.due_at is None] == ["ann"]
