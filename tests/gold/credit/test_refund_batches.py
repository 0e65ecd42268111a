"""Refunds and cancellations through the real jobs, in any batch relative to their order, rate and bots."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gold.rebuild_definitions import DEFINITIONS
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, empty_tables, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, rate, record
from kit.spark import empty_home
from lakehouse.contracts.gold import ATTRIBUTION, BOT_REFUNDS, CONVERSIONS
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job

pytestmark = pytest.mark.long

HOUR = timedelta(hours=1)
CRAWLER = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
OF_REFUNDS = (BOT_REFUNDS.name, CONVERSIONS.name, ATTRIBUTION.name)
ROW = ("event_id", "person_id", "value", "reporting_value", "over_refunded", "is_counted", "value_sent")


def send(uid: str, visitor: str, kind: str, hour: float, agent: str = BROWSER, **properties: Any) -> Record:
    page = {"url": "https://shop.example/?utm_source=google&utm_medium=cpc"}
    body = message(uid, visitor, kind, NOON + hour * HOUR, properties=properties)
    return record({**body, "context": {"page": page, "userAgent": agent}})


def order(uid: str, visitor: str, hour: float, order_id: str, total: str, currency: str = "USD") -> Record:
    given = {"order_id": order_id, "total": total, "currency": currency}
    return send(uid, visitor, "Order Completed", hour, **given)


def refund(uid: str, visitor: str, hour: float, order_id: str, total: Any = None, **more: Any) -> Record:
    given = {"order_id": order_id, "total": total, "currency": "USD", **more}
    return send(uid, visitor, "Order Refunded", hour, **given)


def cancel(uid: str, visitor: str, hour: float, order_id: str) -> Record:
    return send(uid, visitor, "Order Cancelled", hour, order_id=order_id)


BATCHES = [
    [
        rate("USD", "0.5", NOON - HOUR),
        send("crawl", "bot", "page", 0, agent=CRAWLER),
        order("a", "ann", 1, "A", "100"),
        refund("a-bot", "bot", 2, "A", "30"),
        refund("a-all", "ann", 3, "A"),
        cancel("b-bot", "bot", 2, "B"),
        order("d-bot", "bot", 1, "D", "500"),
        refund("c-eve", "eve", 4, "C", "10"),
        order("e-eve", "eve", 5, "E", "70"),
        refund("e-eve-back", "eve", 6, "E", "50"),
        refund("e-dan", "dan", 7, "E"),
        order("f", "flo", 1, "F", "50"),
        refund("f-total", "flo", 6, "F", "50"),
    ],
    [
        refund("a-first", "ann", 1.5, "A", "60"),  # earlier than the refunds of the first batch
        refund("f-part", "gus", 5, "F", "15"),
        order("b", "ben", 8, "B", "40"),
        order("c", "cat", 9, "C", "8"),
        order("d", "dan", 9, "D", "20"),
        cancel("d-bot-off", "bot", 10, "D"),
    ],
    [
        send("eve-is-one", "eve", "page", 11, agent=CRAWLER),
        refund("a-pounds", "ann", 12, "A", "1", currency="GBP"),
        rate("GBP", "1.25", NOON),
    ],
    [
        order("e-dan-o", "dan", 20, "E", "200"),
        rate("USD", "0.8", NOON + 2 * HOUR),
        cancel("e", "dan", 21, "E"),
    ],
]


def test_refunds_follow_later_orders_bots_and_rates_across_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    seen: list[dict[str, tuple[Any, ...]]] = []
    for records in BATCHES:
        bronze.commit(records)
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, Oracle.over(bronze.stored))
        rows = read_rows(settings, "gold.conversions", ROW)
        seen.append({row["event_id"]: tuple(row.values())[1:] for row in rows})
    first, second, third, fourth = seen
    assert first["a-bot"] == ("ann", -30, -15, False, False, -30)
    assert first["a-all"][1] == -70
    assert first["f-total"] == ("flo", -50, -25, False, False, -50)
    assert {"b-bot", "d-bot"}.isdisjoint(first), "a bot has no order, and cancels none that is not known"
    assert [second[uid][1] for uid in ("a-first", "a-bot", "a-all", "b-bot", "d", "d-bot-off")] == [
        -60, -30, -10, -40, 20, -20,
    ]  # fmt: skip
    assert second["c-eve"] == ("eve", -8, -4, True, False, -10)
    assert second["f-total"] == ("flo", -35, Decimal("-17.5"), True, False, -50)
    assert third["c-eve"][0] == "cat"
    assert {"e-eve", "e-eve-back"}.isdisjoint(third)
    assert third["e-dan"] == ("dan", None, None, False, False, None)
    assert third["a-pounds"][3]
    assert fourth["a-bot"] == ("ann", -25, -20, True, False, -30), "the pounds are compared in euros"
    assert fourth["e-eve-back"][:2] == ("dan", -50)
    assert [fourth[uid][1] for uid in ("e-dan", "e")] == [-150, 0]
    of_bots = {row["event_id"] for row in read_rows(settings, "gold.bot_refunds", ("event_id",))}
    assert of_bots == {"a-bot", "b-bot", "c-eve", "d-bot-off", "e-eve-back"}
    rebuild_from_silver(spark, settings)
    assert {row["event_id"] for row in read_rows(settings, "gold.bot_refunds", ("event_id",))} == of_bots
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    traffic = read_rows(settings, "gold.traffic", ("window_kind", "channel", "conversions", "value"))
    days = [row for row in traffic if row["window_kind"] == "1 day" and row["channel"] is None]
    assert sum(row["conversions"] for row in days) == 6
    worth = [row[2] or Decimal(0) for row in fourth.values()]
    assert sum(row["value"] for row in days) == sum(worth)


def rebuild_from_silver(spark: SparkSession, settings: Any) -> None:
    """Empty the tables that depend on refunds, and rebuild them from silver."""
    empty_tables(settings, OF_REFUNDS)
    job = rebuild_job(DEFINITIONS, OF_REFUNDS)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
