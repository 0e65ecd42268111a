"""Conversions name the versions of customer and products that were valid, also when these come late."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from folds.shop.dimension_rows import version_id
from folds.shop.row_history import SNAPSHOT, TRUNCATE, UPDATE, Change
from kit.dying import dying_at
from kit.home import ROOT
from kit.oracle import Oracle
from kit.oracle_shop import Sent
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, record
from kit.shop_records import BEGAN, CUSTOMERS, change
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.operations.rebuild import definitions
from millrace.tables.duckdb_views import run_query

pytestmark = pytest.mark.long

PRODUCTS = "public.products"
HOUR = timedelta(hours=1)
ALL_JOBS = ("refine", "repair", "dimensions", "publish")
NAMES = tuple(name for name in CONVERSION_ITEMS.column_names if name not in ("converted_at", "seen_at"))


def seconds(hour: float) -> int:
    began = datetime.fromtimestamp(BEGAN / 1e6, timezone.utc)
    return round((NOON + hour * HOUR - began).total_seconds())


def visit(visitor: str, user: str, hour: float, lines: Sequence[dict[str, Any]]) -> list[Record]:
    """A promotion that is seen and clicked, and an hour later an order."""
    of = {"userId": user, "context": {"page": {"url": "https://shop.example/"}, "userAgent": BROWSER}}
    banner = {"properties": {"promotion_id": "mugs"}}
    order = {"properties": {"order_id": visitor, "total": 20, "currency": "EUR", "products": lines}}
    steps = [
        ("Promotion Viewed", 0.0, banner),
        ("Promotion Clicked", 0.1, banner),
        ("Order Completed", 0.3, order),
    ]
    return [
        record(message(f"{visitor}-{name}", visitor, name, NOON + (hour + late) * HOUR, **of, **more))
        for name, late, more in steps
    ]


def product(lsn: int, hour: float, price: str, kind: str = UPDATE) -> Record:
    row = {"id": "mug", "price": price, "cost": "4", "currency": "EUR", "category": "kitchen"}
    return change(Sent("mug", Change(lsn, 1, kind, seconds(hour), row)), PRODUCTS)


def customer(lsn: int, hour: float, plan: str, kind: str = UPDATE) -> Record:
    return change(Sent("u1", Change(lsn, 1, kind, seconds(hour), {"id": "u1", "plan": plan})), CUSTOMERS)


def snapshot() -> list[Record]:
    start = Change(1, 0, TRUNCATE, seconds(-1))
    tables = [change(Sent(None, start), table) for table in (PRODUCTS, CUSTOMERS)]
    return [*tables, product(1, -1, "9.5", SNAPSHOT), customer(1, -1, "free", SNAPSHOT)]


def items(settings: Settings) -> list[tuple[Any, ...]]:
    rows = read_rows(settings, CONVERSION_ITEMS.name, ("converted_at", *NAMES))
    wanted = (
        *("line", "customer_version_id", "plan", "product_id", "quantity", "product_version_id", "price"),
        *("margin", "seen_version_id", "seen_price"),
    )
    ordered = sorted(rows, key=lambda row: (row["converted_at"], row["line"]))
    return [tuple(row[name] for name in wanted) for row in ordered]


def of_product(lsn: int) -> str:
    return version_id("shop", PRODUCTS, '{"id":"mug"}', lsn)


def of_customer(lsn: int) -> str:
    return version_id("shop", CUSTOMERS, '{"id":"u1"}', lsn)


def test_conversions_name_the_versions_of_their_time(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    mug = {"product_id": "mug", "quantity": 2}
    bronze.commit([*visit("a", "u1", 0, [mug, {"product_id": "cup"}]), *visit("b", "nobody", 2, [])])
    run_jobs(spark, settings, *ALL_JOBS)
    assert items(settings) == [], "nothing is known of the shop"
    bronze.commit(snapshot())
    run_jobs(spark, settings, *ALL_JOBS)
    first, old = Decimal("9.5"), (of_product(1), Decimal("9.5"))
    customer_1 = (of_customer(1), "free")
    cup = (2, *customer_1, "cup", None, *[None] * 5)
    assert items(settings) == [(1, *customer_1, "mug", 2, of_product(1), first, first - 4, *old), cup]
    # the price changes between impression and order; visitor c orders after that
    bronze.commit([product(20, 0.2, "10"), *visit("c", "u1", 5, [mug])])
    run_jobs(spark, settings, "refine", "repair", "dimensions")
    with dying_at(CONVERSION_ITEMS.name):  # conversions are written, and the micro-batch is in the ledger
        run_jobs(spark, settings, "publish")
    run_jobs(spark, settings, "publish")
    ten, new = Decimal(10), (of_product(20), Decimal(10))
    changed = (1, *customer_1, "mug", 2, of_product(20), ten, ten - 4, *old)
    last = (1, *customer_1, "mug", 2, of_product(20), ten, ten - 4, *new)
    assert items(settings) == [changed, cup, last]
    # a customer's plan that comes late changes what it touches: c, and not a
    before = commits_of(settings)
    bronze.commit([customer(30, 4, "pro")])
    run_jobs(spark, settings, *ALL_JOBS)
    last = (1, of_customer(30), "pro", *last[3:])
    assert items(settings) == [changed, cup, last]
    assert commits_of(settings) == before + 1
    run_jobs(spark, settings, *ALL_JOBS)
    assert commits_of(settings) == before + 1
    job = rebuild_job(definitions(), (CONVERSION_ITEMS.name,))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert items(settings) == [changed, cup, last]


def test_refunds_and_cancellations_have_no_items(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    mug = {"product_id": "mug", "quantity": 2}
    money = {"total": 5, "currency": "EUR"}
    reversals = [
        record(message(uid, "a", name, NOON + HOUR, userId="u1", properties={"order_id": "a", **more}))
        for uid, name, more in (
            ("listed", "Order Refunded", {**money, "products": [mug]}),
            ("alone", "Order Refunded", money),
            ("cancelled", "Order Cancelled", {}),
        )
    ]
    bronze.commit([*visit("a", "u1", 0, [mug]), *reversals, *snapshot()])
    run_jobs(spark, settings, *ALL_JOBS)
    oracle, others = Oracle.over(bronze.stored), TABLES.keys() - {CONVERSION_ITEMS.name}
    assert_as_the_oracle(settings, oracle, left_out=others)
    assert len(oracle.gold.conversions) == 4
    ((plan, conversions, margin),) = run_query(settings, documented_query()).rows()
    assert (plan, conversions, margin) == ("free", 1, 2 * (Decimal("9.5") - 4))


def documented_query() -> str:
    """The query of conversions and margin by plan in docs/shop.md."""
    lines = (ROOT / "docs/shop.md").read_text().splitlines()
    (line,) = (line for line in lines if "sum(margin * quantity)" in line)
    return line.split('"')[1]


def test_margin_out_of_range_is_null(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    row = {"id": "1001", "price": "99999999999999.9999", "cost": "-0.0001", "currency": "EUR"}
    start = change(Sent(None, Change(1, 0, TRUNCATE, seconds(-1))), PRODUCTS)
    version = change(Sent("1001", Change(1, 1, SNAPSHOT, seconds(-1), row)), PRODUCTS)
    listed: list[Any] = ["gift wrap", {"product_id": 1001.0}]
    bronze.commit([*visit("a", "u1", 0, listed), start, version])
    run_jobs(spark, settings, *ALL_JOBS)
    ((line, _, _, product_id, _, _, price, margin, *_),) = items(settings)
    assert (line, product_id, price, margin) == (1, "1001", Decimal(row["price"]), None)


def commits_of(settings: Settings) -> int:
    log = settings.warehouse / CONVERSION_ITEMS.name.replace(".", "/") / "_delta_log"
    return len(list(log.glob("*.json")))
