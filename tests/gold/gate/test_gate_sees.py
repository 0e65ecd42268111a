"""Gold reads only silver rows that passed the gate, and no concurrent writes of other jobs."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from gold.rebuild_definitions import DEFINITIONS as GOLD
from kit.dying import dying_at
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.planted import shop
from kit.records import NOON, Bronze, Record, message, record
from kit.strict_gate import (
    facts_of_gold,
    facts_wanted,
    publish_is_held,
    release,
    strict_home,
    without_number,
)
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import Definitions, rebuild_job
from lakehouse.settings import Settings
from silver.rebuild_definitions import DEFINITIONS as SILVER

pytestmark = pytest.mark.long

HOUR = timedelta(hours=1)
PAGE = {"page": {"url": "https://shop.example/"}}


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path) -> Iterator[Settings]:
    with strict_home(spark, tmp_path) as settings:
        yield settings


def rebuild(spark: SparkSession, settings: Settings, definitions: Definitions, *tables: str) -> None:
    job = rebuild_job(definitions, tables)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def sale(uid: str, at: float, **properties: Any) -> Record:
    """An order of 10 EUR, some hours after noon."""
    reported = {"total": "10", "currency": "EUR", **properties}
    return record(message(uid, "v", "Order Completed", NOON + at * HOUR, context=PAGE, properties=reported))


def test_publish_ignores_rows_that_refine_writes_concurrently(
    spark: SparkSession, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refine writes a bad batch of the visitor being published: half before publish, the rest during it."""
    bronze = Bronze(spark, settings)
    bronze.commit([sale("good", 0, order_id="o1")])
    run_jobs(spark, settings, "refine", "repair")
    good = list(bronze.stored)
    bronze.commit([sale("bad", 0.1)])
    with dying_at("silver.sessions"):
        run_jobs(spark, settings, "refine")
    read, is_started = Lakehouse.read, False

    def refine_after_first_read(lake: Lakehouse, name: str) -> DataFrame:
        nonlocal is_started
        rows = read(lake, name)
        if lake.job == "publish" and name == EVENTS.name and lake.pinned(name) is not None and not is_started:
            is_started = True
            run_jobs(spark, settings, "refine", "repair")
        return rows

    monkeypatch.setattr(Lakehouse, "read", refine_after_first_read)
    publish_is_held(spark, settings)
    assert is_started
    assert read_rows(settings, "ops.ledger", ("job",)).count({"job": "publish"}) == 1
    assert facts_of_gold(settings) == facts_wanted(good)
    release(spark, settings)
    run_jobs(spark, settings, "publish")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))


@pytest.mark.long
def test_partly_published_late_events_are_completed_before_gate_closes(
    spark: SparkSession, settings: Settings
) -> None:
    """Publish dies while it publishes only repaired rows, and the rows that follow are bad."""
    bronze = Bronze(spark, settings)
    bronze.commit([*shop(1, NOON, visitors=2), *shop(2, NOON + 5 * HOUR, visitors=2)])
    run_jobs(spark, settings)
    bronze.commit([sale("late", 1, order_id="o1")])
    run_jobs(spark, settings, "refine", "publish", "repair")
    good = list(bronze.stored)
    with dying_at("gold.conversions"):
        run_jobs(spark, settings, "publish")
    bronze.commit([sale("bad", 1.1)])
    run_jobs(spark, settings, "refine", "repair")
    publish_is_held(spark, settings)
    assert facts_of_gold(settings) == facts_wanted(good)
    release(spark, settings)
    run_jobs(spark, settings, "publish")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))


@pytest.mark.long
def test_gold_rebuild_leaves_out_unpublished_rows_or_is_rejected_if_they_fail_the_gate(
    spark: SparkSession, settings: Settings
) -> None:
    """If silver was rebuilt, it has no version without these rows."""
    bronze = Bronze(spark, settings)
    bronze.commit(shop(1, NOON, visitors=2))
    run_jobs(spark, settings)
    good = facts_of_gold(settings)
    bronze.commit(without_number(shop(2, NOON, visitors=2)))
    run_jobs(spark, settings, "refine", "repair")
    rebuild(spark, settings, GOLD, "gold.touches", "gold.conversions")
    assert facts_of_gold(settings) == good
    rebuild(spark, settings, SILVER, "silver.sessions")
    with pytest.raises(MillraceError, match="rows that are not published yet are not as expected"):
        rebuild(spark, settings, GOLD, "gold.touches", "gold.conversions")
    assert facts_of_gold(settings) == good
    publish_is_held(spark, settings)
    assert [row["state"] for row in read_rows(settings, "ops.gates", ("state",))] == ["closed"]
