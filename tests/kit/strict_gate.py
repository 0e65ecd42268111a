"""A home where a single order without order id closes the gate, and comparisons of its gold."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import expected_rows, plain, read_rows, run_jobs
from kit.planted import of_orders, plant
from kit.records import Record, Stored
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace.operations.release import release_job

NUMBERED = {
    "name": "orders have a number",
    "expect": "expect_column_values_to_not_be_null",
    "column": "order_id",
    "where": "goal = 'Order Completed'",
    "severity": "stop",
}
_FACTS = {
    "gold.conversions": ("event_id",),
    "gold.touches": ("touch_id", "touched_at"),
    "gold.attribution": ("conversion_id", "model", "position", "touch_id"),
    "gold.trails": ("conversion_id", "step", "event_id"),
}
Facts = dict[str, set[tuple[Any, ...]]]


@contextmanager
def strict_home(spark: SparkSession, folder: Path) -> Iterator[Settings]:
    """A home, and a bundle with the expectation that each order has an order id."""
    root = bundle_root()
    assert root is not None
    shutil.copytree(root / "conf", folder / "bundle" / "conf")
    shutil.copy(root / BUNDLE_FILE, folder / "bundle")
    file = folder / "bundle" / "conf" / "expectations" / "silver.events.yml"
    file.write_text(yaml.safe_dump({"expectations": [NUMBERED]}))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder / "bundle")
        yield empty_home(spark, folder / "home")


def without_number(records: list[Record]) -> list[Record]:
    """The records with all order ids removed."""
    return plant(records, 1, of_orders(order_id=lambda _: None))


def publish_is_held(spark: SparkSession, settings: Settings) -> None:
    with pytest.raises(MillraceError, match="gold is held"):
        run_jobs(spark, settings, "publish")


def release(spark: SparkSession, settings: Settings) -> None:
    job = release_job("Ada", "a test")
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def facts_of_gold(settings: Settings) -> Facts:
    """Key columns of conversions, touches, credit and trails in gold."""
    return {table: _facts(read_rows(settings, table, names), names) for table, names in _FACTS.items()}


def facts_wanted(stored: Iterable[Stored]) -> Facts:
    """The same columns, expected by the oracle for these records."""
    rows = expected_rows(Oracle.over(stored))
    return {table: _facts(map(plain, rows[table]()), names) for table, names in _FACTS.items()}


def _facts(rows: Iterable[dict[str, Any]], names: tuple[str, ...]) -> set[tuple[Any, ...]]:
    return {tuple(row[name] for name in names) for row in rows}
