"""The watermark in an application that Millrace has not started: Python's time zone is not UTC."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.pipeline import run_jobs
from kit.records import NOON, Bronze, message, record
from kit.spark import empty_home
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.ledger import Ledger


@pytest.fixture
def _in_vienna(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Europe/Vienna")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.long
@pytest.mark.usefixtures("_in_vienna")
def test_watermark_does_not_depend_on_the_time_zone_of_the_driver(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    Bronze(spark, settings).commit([record(message("e", "v", at=NOON))])
    run_jobs(spark, settings, "refine")
    last = Ledger(Lakehouse(spark.newSession(), settings, "test")).last("refine")
    assert last is not None
    assert last.watermark == NOON - timedelta(minutes=10)
