"""The queries of the bundle's alerts, run by Spark on the tables of a home."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from bronze.job import create_queried_tables
from kit.bundle import ROOT, tree_of
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.contracts import TABLES
from lakehouse.run.job import JobContext

ALERTS = tree_of(ROOT, "prod")["resources"]["alerts"]
READ = ("ops.ledger", "ops.gates", "bronze.kafka_records", "silver.events")


@pytest.fixture
def home(spark: SparkSession, tmp_path: Path) -> Path:
    """A home with the tables that alerts read, without rows."""
    empty_home(spark, tmp_path)
    for name in READ:
        append_rows(tmp_path, name, [])
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {TABLES[name].layer}")
        folder = tmp_path.joinpath("warehouse", *name.split("."))
        spark.sql(f"CREATE TABLE {name} USING DELTA LOCATION '{folder}'")
    return tmp_path


def ask(spark: SparkSession, alert: str) -> list[Row]:
    text = ALERTS[alert]["query_text"]
    catalog = text.partition(".ops.")[0].rpartition("`")[0].rpartition("`")[2]
    return spark.sql(text.replace(f"`{catalog}`.", "")).collect()


def raised(rows: list[Row], alert: str) -> bool:
    evaluation = ALERTS[alert]["evaluation"]
    value: Any = rows[0][evaluation["source"]["name"]]
    return value is not None and value > evaluation["threshold"]["value"]["double_value"]


@pytest.mark.long
def test_no_alert_is_raised_before_there_are_rows(spark: SparkSession, home: Path) -> None:
    for alert in ALERTS:
        assert not raised(ask(spark, alert), alert), alert


def test_ingest_creates_the_tables_that_alerts_query(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path).model_copy(update={"catalog": "spark_catalog"})
    create_queried_tables(JobContext("ingest", spark.newSession(), settings, once=True))
    for alert in ALERTS:
        assert not raised(ask(spark, alert), alert), alert
    empty_home(spark, tmp_path)


@pytest.mark.parametrize(
    ("silver", "is_raised"), [pytest.param(290, False, marks=pytest.mark.long), (310, True)]
)
def test_slow_stage_raises_an_alert(spark: SparkSession, home: Path, silver: int, is_raised: bool) -> None:
    stamp = datetime.now(timezone.utc) - timedelta(minutes=20)
    ends = {"ingest": 2, "refine": 2 + silver, "publish": 2 + silver + 100}
    append_rows(
        home,
        "ops.ledger",
        [
            {"job": job, "position": stamp, "started_at": stamp, "seconds": float(end), "input_rows": 1}
            for job, end in ends.items()
        ],
    )
    place = {"topic": "events", "partition": 0, "offset": 1, "ingested_at": stamp}
    sent = stamp - timedelta(seconds=30)
    headers = [{"key": "node", "value": b"main"}]
    append_rows(home, "bronze.kafka_records", [{**place, "timestamp": sent, "headers": headers}])
    append_rows(home, "silver.events", [{**place, "arrival_time": sent - timedelta(seconds=40)}])
    rows = ask(spark, "stage-slow")
    assert raised(rows, "stage-slow") == is_raised
    assert rows[0].stage == "silver"
    assert rows[0].seconds == pytest.approx(silver, abs=0.01)
