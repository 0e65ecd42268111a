"""Credit by columns of the shop's customers as of conversions, also when a version comes late."""

import shutil
from collections.abc import Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from folds.shop.row_history import SNAPSHOT, TRUNCATE, UPDATE, Change
from kit.dying import dying_at
from kit.oracle import Oracle
from kit.oracle_dimensions import customer_values
from kit.oracle_shop import Sent
from kit.oracle_wire import Fields
from kit.pipeline import empty_tables, plain, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, record
from kit.shop_records import BEGAN, CUSTOMERS, change
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.contracts.daily import DIMENSION_PERFORMANCE
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros
from millrace.operations.rebuild import definitions

pytestmark = pytest.mark.long

HOUR = timedelta(hours=1)
COLUMNS = {"plan": "plan", "tier": "level"}  # `level` is a column of the shop's table alone
NAME = DIMENSION_PERFORMANCE.name
SILVER = ("refine", "repair", "dimensions")
RULES = """
dimensions:
  device: {from: user_agent.device, level: session}
  plan: {from: customers.plan}
  tier: {from: customers.level}
"""


def visit(visitor: str, user: str, hour: float, properties: Fields) -> list[Record]:
    """A page and an order."""
    context = {"page": {"url": "https://shop.example/"}, "userAgent": BROWSER}
    order = {"order_id": visitor, "total": 20, "currency": "EUR", **properties}
    return [
        record(message(f"{visitor}-p", visitor, "page", NOON + hour * HOUR, userId=user, context=context)),
        record(
            message(
                f"{visitor}-o",
                visitor,
                "Order Completed",
                NOON + (hour + 0.1) * HOUR,
                userId=user,
                context=context,
                properties=order,
            )
        ),
    ]


def customer(lsn: int, hour: float, plan: str | None, level: str | None, kind: str = UPDATE) -> Record:
    row = {"id": "u1", "plan": plan, "level": level}
    return change(Sent("u1", Change(lsn, 1, kind, at(hour), row)))


def at(hour: float) -> int:
    return round((to_micros(NOON + hour * HOUR) - BEGAN) / 1e6)


def expected(oracle: Oracle) -> list[Fields]:
    """The rows of the shop's dimensions: a conversion has the value of the version that was valid."""
    return oracle.windows.dimensions_by(partial(customer_values, oracle.shop_changes, COLUMNS))


def rows_of(settings: Settings) -> list[Fields]:
    rows = read_rows(settings, NAME, DIMENSION_PERFORMANCE.column_names)
    return [row for row in rows if row["dimension"] in COLUMNS]


def by_plan(rows: Sequence[Fields]) -> dict[tuple[date, str | None], float]:
    return {
        (row["day"], row["value"]): row["conversions"]
        for row in rows
        if (row["model"], row["dimension"]) == ("last", "plan") and row["conversions"]
    }


def assert_same(found: Sequence[Fields], wanted: Sequence[Fields]) -> None:
    shown = [sorted(repr(sorted(plain(row).items())) for row in rows) for rows in (found, wanted)]
    assert shown[0] == shown[1]


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of the test's own, without custom dimensions."""
    root, folder = bundle_root(), tmp_path / "bundle"
    shutil.copytree(root / "conf", folder / "conf")
    shutil.copy(root / BUNDLE_FILE, folder / BUNDLE_FILE)
    (folder / "conf/dimensions.yml").write_text("dimensions: {}")
    monkeypatch.chdir(folder)
    return folder


def test_late_version_changes_credit_of_its_conversions(
    spark: SparkSession, tmp_path: Path, bundle: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    (bundle / "conf/dimensions.yml").write_text(RULES)

    def arrive(*records: Record, changes: bool = True) -> dict[tuple[date, str | None], float]:
        bronze.commit(records)
        run_jobs(spark, settings, *SILVER)
        if changes:
            with dying_at(NAME):  # before its commit, so that the next run has to find the days again
                run_jobs(spark, settings, "publish")
        run_jobs(spark, settings, "publish")
        assert_same(rows_of(settings), expected(Oracle.over(bronze.stored)))
        return by_plan(rows_of(settings))

    first, second = date(2026, 3, 1), date(2026, 3, 3)
    orders = [*visit("a", "u1", 0, {}), *visit("b", "nobody", 1, {}), *visit("c", "u1", 48, {})]
    assert arrive(*orders) == {(first, None): 2, (second, None): 1}
    start = change(Sent(None, Change(1, 0, TRUNCATE, at(-1))), CUSTOMERS)
    known = arrive(start, customer(1, -1, "free", "  gold ", SNAPSHOT))
    assert known == {(first, "free"): 1, (first, None): 1, (second, "free"): 1}
    assert arrive(customer(30, 60, "team", "gold"), changes=False) == known, "later than all orders"
    late = arrive(customer(20, 24, "pro", None))
    assert late == {(first, "free"): 1, (first, None): 1, (second, "pro"): 1}
    more = arrive(*visit("d", "u1", 70, {}), *visit("e", "u1", 1, {"coupon": "x"}))
    assert more == {**late, (first, "free"): 2, (date(2026, 3, 4), "team"): 1}
    empty_tables(settings, [NAME])
    job = rebuild_job(definitions(), (NAME,))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert_same(rows_of(settings), expected(Oracle.over(bronze.stored)))
