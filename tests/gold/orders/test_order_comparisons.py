"""Order comparisons and persons equal the oracle after every batch, and after a rebuild."""

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.planted_orders import (
    COUNT,
    DAY,
    DOUBLED,
    MISSING,
    WRONG,
    customer_records,
    order_name,
    shop_records,
    web_records,
)
from kit.records import NOON, Bronze, Record, rate
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.contracts.cohorts import PERSONS
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.timeline import VISITOR_TIMELINE
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.operations.rebuild import definitions

JOBS = ("refine", "repair", "dimensions", "publish")
COMPARED = (
    *("silver.shop_changes", "silver.orders", "silver.customers"),
    *(ORDER_COMPARISONS.name, PERSONS.name, VISITOR_TIMELINE.name),
)


def tables_of(settings: Settings) -> dict[str, list[str]]:
    names = (ORDER_COMPARISONS.name, PERSONS.name, VISITOR_TIMELINE.name)
    return {
        name: sorted(repr(row) for row in read_rows(settings, name, TABLES[name].column_names))
        for name in names
    }


def assert_as_the_oracle_says(settings: Settings, bronze: Bronze) -> None:
    left_out = TABLES.keys() - set(COMPARED)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), left_out=left_out)


def assert_differences_are_those_planted(settings: Settings) -> None:
    rows = read_rows(settings, ORDER_COMPARISONS.name, ("order_id", "difference", "is_older"))
    wrong = MISSING + DOUBLED
    for difference, numbers in (
        ("no event", range(MISSING)),
        ("several events", range(MISSING, wrong)),
        ("other value", range(wrong, wrong + WRONG)),
        ("not in the shop", range(COUNT - 2, COUNT)),
    ):
        named = {row["order_id"] for row in rows if row["difference"] == difference}
        assert named == {order_name(number) for number in numbers}, difference
    assert {row["order_id"] for row in rows if row["is_older"]} == {"old0", "old1"}


def shuffled_records() -> list[Record]:
    random = Random(3)
    web = web_records(random)
    records = [*web, *shop_records(web), *customer_records(random)]
    random.shuffle(records)
    return records


def test_orders_and_persons_of_one_batch_match_the_oracle(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit(shuffled_records())
    run_jobs(spark, settings, *JOBS)
    assert_as_the_oracle_says(settings, bronze)
    assert_differences_are_those_planted(settings)


@pytest.mark.long
def test_orders_and_persons_follow_every_batch(spark: SparkSession, tmp_path: Path) -> None:
    settings, records = empty_home(spark, tmp_path), shuffled_records()
    bronze, half = Bronze(spark, settings), len(records) // 2
    last = [*records[half:], rate("USD", 0.9, NOON - DAY)]
    for batch, jobs in (
        (records[:half], ("refine", "publish", "repair", "dimensions", "publish")),
        (last, JOBS),
    ):
        bronze.commit(batch)
        run_jobs(spark, settings, *jobs)
        assert_as_the_oracle_says(settings, bronze)
    assert_differences_are_those_planted(settings)
    before = tables_of(settings)
    job = rebuild_job(definitions(), tuple(before))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert tables_of(settings) == before
