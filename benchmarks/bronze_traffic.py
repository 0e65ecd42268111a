"""Fills bronze as ingest would, with multiplied sample traffic."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.ledger import Entry, Ledger
from millrace.sample_shop.traffic_stream import DEFAULT_SEED, generate

SAMPLE = 100_000  # generated records
_SENT = datetime(2026, 11, 1, tzinfo=timezone.utc)  # Kafka timestamp: later than all times in the traffic
_NAMES = ("messageId", "anonymousId", "userId", "order_id")  # fields that differ between visitors


def fill_bronze(lake: Lakehouse, events: int, batch: int) -> None:
    """Write bronze.kafka_records and ingest's ledger rows, in order of arrival; see `trickle_in`."""
    for _ in trickle_in(lake, events, batch):
        pass


def trickle_in(lake: Lakehouse, events: int, batch: int) -> Iterator[datetime]:
    """Write records and ingest's ledger rows, one ingest stamp at a time.

    The sample is repeated with different visitors, orders and UIDs, and the copies are interleaved. So a
    batch has as many concurrent visitors as in a larger shop.

    Args:
        lake: the empty lakehouse, opened as the job ingest.
        events: total number of records; above `SAMPLE`, a multiple of it.
        batch: records per ingest stamp.

    Yields:
        The ingest stamp, after its records are committed.
    """
    twins = max(events // SAMPLE, 1)
    lines = min(events, SAMPLE)
    sample = _sample(lake, lines)
    per_batch = max(batch // twins, 1)
    for number, first in enumerate(range(0, lines, per_batch)):
        stamp = _SENT + number * timedelta(minutes=1)
        rows = _multiply(sample.where(F.col("line").between(first, first + per_batch - 1)), twins)
        lake.append(KAFKA_RECORDS.name, rows.withColumn("ingested_at", F.lit(stamp)), upto=stamp)
        taken = min(per_batch, lines - first) * twins
        Ledger(lake).record(Entry("ingest", number, stamp, stamp, 0.0, taken, taken))
        yield stamp


def _sample(lake: Lakehouse, lines: int) -> DataFrame:
    records = list(islice(generate(DEFAULT_SEED, lines), lines))
    columns = {
        "line": pa.array(range(lines), pa.int64()),
        "key": pa.array([record.key for record in records], pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
    }
    return checkpoint(lake.spark.createDataFrame(pa.table(columns)))


def _multiply(sample: DataFrame, twins: int) -> DataFrame:
    rows = sample.crossJoin(F.broadcast(_twins(sample, twins)))
    value = F.col("value").cast("string")
    valid = F.is_valid_utf8(value)
    for name in _NAMES:
        key = F.lit(f'"{name}":"')
        value = F.replace(value, key, F.concat(key, F.col("twin"), F.lit("-")))
    return (
        rows.withColumn("offset", F.col("line") * twins + F.col("twin"))
        .withColumn("value", F.when(valid, value.cast("binary")).otherwise(F.col("value")))
        .withColumns(_place())
        .repartitionByRange("offset")
        .sortWithinPartitions("offset")
    )


def _twins(sample: DataFrame, twins: int) -> DataFrame:
    return sample.sparkSession.range(twins).select(F.col("id").alias("twin"))


def _place() -> dict[str, Column]:
    headers = next(column.type for column in KAFKA_RECORDS.columns if column.name == "headers")
    return {
        "topic": F.lit("events"),
        "partition": F.lit(0),
        "timestamp": F.lit(_SENT),
        "headers": F.lit(None).cast(headers),
    }
