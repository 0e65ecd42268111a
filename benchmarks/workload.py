"""A large bronze, made fast: sample traffic, many times over, with other visitors each time."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.job import Run
from lakehouse.ledger import Entry, Ledger
from lakehouse.settings import Settings
from millrace.clients.traffic.stream import generate

BASE = 100_000
STAMP = datetime(2026, 6, 1, tzinfo=timezone.utc)
_OWN = ("messageId", "anonymousId", "userId", "order_id")


def fill_bronze(spark: SparkSession, settings: Settings, events: int, batch: int, scratch: Path) -> None:
    """Write bronze and the ledger of ingest as `ingest` leaves them.

    The sample traffic's first 100,000 records come as often as it takes, side by side in time; each time
    the identities in the JSON are others, so that visitors, sessions and copies are as many times as many.

    Args:
        spark: the application to write with.
        settings: whose home is filled.
        events: records in all; a multiple of 100,000.
        batch: records of a micro-batch.
        scratch: a folder for the sample.
    """
    crowds = events // BASE
    records = _multiply(_sample(spark, scratch), crowds)
    run = Run("ingest", spark, settings, once=True)
    ledger = Ledger(run.lake)
    per_batch = batch // crowds
    for number, low in enumerate(range(0, BASE, per_batch)):
        stamp = STAMP + timedelta(seconds=number)
        rows = records.where((F.col("line") >= low) & (F.col("line") < low + per_batch))
        run.lake.append(KAFKA_RECORDS.name, rows.withColumn("ingested_at", F.lit(stamp)), upto=stamp)
        count = (min(low + per_batch, BASE) - low) * crowds
        ledger.record(Entry("ingest", number, stamp, stamp, 0.0, count, output_rows=count))


def _sample(spark: SparkSession, scratch: Path) -> DataFrame:
    path = scratch / "sample.parquet"
    if not path.exists():
        lines = [(line, record.key, record.value) for line, record in enumerate(generate(7, BASE))]
        schema = {"line": pl.Int64, "key": pl.Binary, "value": pl.Binary}
        pl.DataFrame(lines, schema=schema, orient="row").write_parquet(path)
    return spark.read.parquet(str(path))


def _multiply(sample: DataFrame, crowds: int) -> DataFrame:
    each = sample.withColumn("crowd", F.explode(F.sequence(F.lit(0), F.lit(crowds - 1))))
    return each.select(
        "line",
        F.lit("events").alias("topic"),
        F.lit(0).alias("partition"),
        (F.col("line") * crowds + F.col("crowd")).alias("offset"),
        F.lit(STAMP).alias("timestamp"),
        "key",
        _renamed(F.col("value").cast("string"), F.col("crowd")).cast("binary").alias("value"),
        F.array().cast("array<struct<key: string, value: binary>>").alias("headers"),
    )


def _renamed(value: Column, crowd: Column) -> Column:
    for name in _OWN:
        for opening in (f'"{name}":"', f'"{name}": "'):
            renamed = F.concat(F.lit(opening), crowd.cast("string"), F.lit("-"))
            value = F.replace(value, F.lit(opening), renamed)
    return value
