"""Inputs of a rebuild of gold: what publish has processed, computed once for all tables."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gold import rebuild_definitions
from gold.rebuild_definitions import DEFINITIONS, RebuildInputs
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.planted import shop
from kit.records import NOON, Bronze, Record, message, rate, record
from kit.spark import empty_home
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job

pytestmark = pytest.mark.long

ORDER = {"order_id": "o1", "total": "10", "currency": "USD"}


def sent(uid: str, day: int, type_: str, url: str = "https://shop.example/", **fields: Any) -> Record:
    return record(
        message(uid, "ann", type_, NOON + timedelta(days=day), context={"page": {"url": url}}, **fields)
    )


LATE_TOUCH = sent("mail", 5, "page", "https://shop.example/?utm_medium=email")
LATE_RATE = rate("USD", "0.5", NOON + timedelta(days=9))


@pytest.mark.parametrize(("late", "table"), [(LATE_TOUCH, "gold.touches"), (LATE_RATE, "gold.conversions")])
def test_publish_after_a_rebuild_credits_late_touch_and_applies_late_rate(
    late: Record, table: str, spark: SparkSession, tmp_path: Path
) -> None:
    """The rebuild comes while silver has it and gold has not."""
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit(
        [
            rate("USD", "0.9", NOON),
            sent("page", 10, "page"),
            sent("order", 10, "Order Completed", properties=ORDER),
        ]
    )
    run_jobs(spark, settings)
    bronze.commit([late])
    run_jobs(spark, settings, "refine", "repair")
    job = rebuild_job(DEFINITIONS, [table])
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    run_jobs(spark, settings, "publish")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))


def test_rebuild_reuses_computed_visits_until_silver_changes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []
    all_visits = rebuild_definitions.all_visits

    def counted(*args: Any) -> Any:
        computed.append(args)
        return all_visits(*args)

    monkeypatch.setattr(rebuild_definitions, "all_visits", counted)
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    run = JobContext("rebuild", spark.newSession(), settings, once=True)
    for number in (1, 2):
        bronze.commit(shop(number, NOON + number * timedelta(hours=5), visitors=3))
        run_jobs(spark, settings)
        published = read_rows(settings, "gold.touches", ("touch_id",))
        for _ in range(2):
            assert RebuildInputs(run).touches().count() == len(published)
        assert len(computed) == number
