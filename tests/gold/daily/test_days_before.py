"""Rows of the day before that events of a day change."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, record
from kit.spark import empty_home
from lakehouse.contracts.daily import PROMOTION_PERFORMANCE, RESULT_PERFORMANCE, SEARCH_PERFORMANCE
from lakehouse.settings import Settings

pytestmark = pytest.mark.long

FIRST_DAY, SECOND_DAY = NOON.date(), NOON.date() + timedelta(days=1)
HOUR = timedelta(hours=1)


def server_event(uid: str, name: str, hour: float, **properties: object) -> Record:
    """It is in no session."""
    body = {**message(uid, "", name, NOON + hour * HOUR, properties=properties), "userId": "u-1"}
    return record({each: value for each, value in body.items() if each != "anonymousId"})


def event(uid: str, name: str, hour: float, **properties: str) -> Record:
    context = {"page": {"url": "https://shop.example/"}, "userAgent": BROWSER}
    body = message(uid, "ann", name, NOON + hour * HOUR, context=context, properties=properties)
    return record(body)


def converting(settings: Settings) -> dict[date, int]:
    """Converting visitors by day."""
    rows = read_rows(settings, PROMOTION_PERFORMANCE.name, ("day", "clicks", "converting_visitors"))
    return {row["day"]: row["converting_visitors"] for row in rows if row["clicks"]}


def test_order_less_than_24_hours_after_a_click_counts_on_the_day_of_the_click(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit(
        [
            event("view", "Promotion Viewed", 10.9, promotion_id="spring"),
            event("click", "Promotion Clicked", 11, promotion_id="spring"),
            event("page", "page", 11.1),
        ]
    )
    run_jobs(spark, settings)
    assert converting(settings) == {FIRST_DAY: 0}
    bronze.commit(
        [
            event("order", "Order Completed", 34.9, order_id="A", total="10", currency="EUR"),
            event("next", "Promotion Clicked", 34.8, promotion_id="summer"),
        ]
    )
    run_jobs(spark, settings)
    assert converting(settings) == {FIRST_DAY: 1, SECOND_DAY: 1}
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))


def test_click_counts_on_the_day_of_its_search(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)

    def clicked() -> dict[date, tuple[int, int]]:
        """Searches with a click, and results that were clicked, by day."""
        names = {SEARCH_PERFORMANCE.name: "clicked_searches", RESULT_PERFORMANCE.name: "clicked"}
        tables = [
            {row["day"]: row[column] for row in read_rows(settings, name, ("day", column))}
            for name, column in names.items()
        ]
        return {day: (tables[0][day], tables[1][day]) for day in tables[0]}

    products = [{"product_id": "p1"}]
    bronze.commit(
        [
            server_event("search", "Products Searched", 11.9, query="shoe"),
            server_event("shown", "Product List Viewed", 11.91, query="shoe", products=products),
        ]
    )
    run_jobs(spark, settings)
    assert clicked() == {FIRST_DAY: (0, 0)}
    bronze.commit([server_event("click", "Product Clicked", 12.05, product_id="p1")])
    run_jobs(spark, settings)
    assert clicked() == {FIRST_DAY: (1, 1)}
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
