"""Publish that dies between its look at silver and the last commit to gold: gate and gold agree."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from kit.dying import dying_at
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, expected_rows, read_rows, run_jobs
from kit.planted import of_orders, plant, shop
from kit.records import NOON, Bronze, Stored
from kit.spark import settle_in
from lakehouse.contracts.gold import LOCK
from lakehouse.errors import MillraceError
from lakehouse.expectations.gates import release_job
from lakehouse.job import Run
from lakehouse.settings import BUNDLE_FILE, Settings, bundle_root

_PERSONAL = ("visitor_minutes", "attribution", "trails", "conversions", "touches")
PUBLISHING = (*(f"gold.{name}" for name in _PERSONAL), "ops.ledger")
CLOSING = ("ops.gates", "ops.expectations")
NUMBERED = {
    "name": "orders have a number",
    "expect": "expect_column_values_to_not_be_null",
    "column": "order_id",
    "where": "goal = 'Order Completed'",
    "severity": "stop",
}


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home, and a bundle in which each order has to have a number."""
    root = bundle_root()
    assert root is not None
    shutil.copytree(root / "conf", tmp_path / "bundle" / "conf")
    shutil.copy(root / BUNDLE_FILE, tmp_path / "bundle")
    file = tmp_path / "bundle" / "conf" / "expectations" / "silver.events.yml"
    file.write_text(yaml.safe_dump({"expectations": [NUMBERED]}))
    monkeypatch.chdir(tmp_path / "bundle")
    return settle_in(spark, tmp_path / "home")


def publish_is_held(spark: SparkSession, settings: Settings) -> None:
    with pytest.raises(MillraceError, match="gold is held"):
        run_jobs(spark, settings, "publish")


def ids(settings: Settings) -> set[str]:
    return {row["event_id"] for row in read_rows(settings, "gold.conversions", ("event_id",))}


def wanted(stored: list[Stored]) -> set[str]:
    return {row["event_id"] for row in expected_rows(Oracle.over(stored))["gold.conversions"]()}


def release(spark: SparkSession, settings: Settings) -> None:
    job = release_job("Ada", "a test", LOCK)
    job.body(Run(job.name, spark.newSession(), settings, once=True))


@pytest.mark.long
@pytest.mark.parametrize("time", range(5))
def test_gate_and_gold_agree_wherever_publish_dies(
    spark: SparkSession, settings: Settings, time: int
) -> None:
    """At each point: what had passed is published whole, and of what is held nothing."""
    bronze = Bronze(spark, settings)
    good: list[Stored] = []
    for number, table in enumerate((*PUBLISHING, *CLOSING)):
        begin = NOON + timedelta(hours=3 * number)
        if table in PUBLISHING:
            bronze.commit(shop(100 * time + 2 * number, begin, visitors=3))
            good = list(bronze.stored)
            run_jobs(spark, settings, "refine", "repair")
            with dying_at(table):
                run_jobs(spark, settings, "publish")
        faulty = shop(100 * time + 2 * number + 1, begin, visitors=3)
        bronze.commit(plant(faulty, 1, of_orders(order_id=lambda _: None)))
        run_jobs(spark, settings, "refine", "repair")
        if table in CLOSING:
            with dying_at(table):
                run_jobs(spark, settings, "publish")
        publish_is_held(spark, settings)
        assert ids(settings) == wanted(good), table
        release(spark, settings)
        run_jobs(spark, settings, "publish")
        good = list(bronze.stored)
        assert ids(settings) == wanted(good), table
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
