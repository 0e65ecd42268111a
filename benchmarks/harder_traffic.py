"""Harder traffic in bronze: 60 days, 10 % of events are goals, 5 % are late by up to 20 days.

841,000 events have 40,000 visitors with two visits of ten events each. Fewer events have fewer visitors.
"""

from datetime import datetime, timedelta, timezone

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.ledger import Entry, Ledger

EVENTS = 841_000
_VISITORS = 40_000
_START = datetime(2026, 8, 1, tzinfo=timezone.utc)
_SPAN, _LATEST = timedelta(days=60), timedelta(days=20)
_SENT = datetime(2026, 11, 1, tzinfo=timezone.utc)  # Kafka timestamp: later than all times in the traffic
_OF_A_VISIT = 10  # events per visit; the last is an order
_LATE = 20  # one event in 20 is late
_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"


def fill_harder(lake: Lakehouse, events: int, batch: int) -> None:
    """Write bronze.kafka_records and ingest's ledger rows, in order of arrival.

    Args:
        lake: the empty lakehouse, opened as the job ingest.
        events: total number of records.
        batch: records per ingest stamp.
    """
    records = checkpoint(_records(lake.spark, events))
    for number, first in enumerate(range(0, events, batch)):
        stamp = _SENT + number * timedelta(minutes=1)
        rows = records.where(F.col("offset").between(first, first + batch - 1))
        lake.append(KAFKA_RECORDS.name, rows.withColumn("ingested_at", F.lit(stamp)), upto=stamp)
        taken = min(batch, events - first)
        Ledger(lake).record(Entry("ingest", number, stamp, stamp, 0.0, taken, taken))


def _records(spark: SparkSession, events: int) -> DataFrame:
    number = F.col("id")
    visit, place = F.floor(number / _OF_A_VISIT), number % _OF_A_VISIT
    apart = _SPAN.total_seconds() * _OF_A_VISIT / events
    seconds = visit * F.lit(apart) + place * F.lit(20) + F.lit(_START.timestamp())
    waits = F.when(_hash(number, "late", _LATE) == 0, _hash(number, "by", int(_LATEST.total_seconds())))
    visitors = max(_VISITORS * events // EVENTS, 1)
    timed = spark.range(events).select(
        "id",
        visit.alias("visit"),
        place.alias("place"),
        F.concat(F.lit("v"), _hash(visit, "visitor", visitors).cast("string")).alias("visitor"),
        F.timestamp_seconds(seconds).alias("at"),
        F.timestamp_seconds(seconds + F.coalesce(waits, F.lit(0))).alias("arrival"),
    )
    headers = next(column.type for column in KAFKA_RECORDS.columns if column.name == "headers")
    return timed.select(
        F.lit("events").alias("topic"),
        F.lit(0).alias("partition"),
        (F.row_number().over(Window.orderBy("arrival", "id")) - 1).cast("bigint").alias("offset"),
        F.lit(_SENT).alias("timestamp"),
        F.col("visitor").cast("binary").alias("key"),
        F.to_json(_message()).cast("binary").alias("value"),
        F.lit(None).cast(headers).alias("headers"),
    )


def _message() -> Column:
    place, number = F.col("place"), F.col("id")
    is_order = place == _OF_A_VISIT - 1
    track = F.when(is_order, "Order Completed").when(place == 1, "Promotion Viewed")
    name = track.when(place == 2, "Promotion Clicked")
    promotion = F.when(place.isin(1, 2), F.concat(F.lit("p"), _hash(F.col("visit"), "p", 50).cast("string")))
    properties = F.struct(
        promotion.alias("promotion_id"),
        F.when(is_order, F.concat(F.lit("o"), number.cast("string"))).alias("order_id"),
        F.when(is_order, _hash(number, "total", 20_000) / F.lit(100)).alias("total"),
        F.when(is_order, F.lit("EUR")).alias("currency"),
    )
    arrival = F.date_format("arrival", _TIME)
    return F.struct(
        F.concat(F.lit("e"), number.cast("string")).alias("messageId"),
        F.when(name.isNull(), "page").otherwise("track").alias("type"),
        name.alias("event"),
        F.col("visitor").alias("anonymousId"),
        F.date_format("at", _TIME).alias("originalTimestamp"),
        arrival.alias("sentAt"),
        arrival.alias("receivedAt"),
        F.struct(F.struct(_address().alias("url")).alias("page")).alias("context"),
        properties.alias("properties"),
    )


def _address() -> Column:
    """The URL of a page. The first page of a visit has a campaign in two of three cases."""
    visit = F.col("visit")
    query = F.element_at(
        F.array(
            F.lit(""),
            F.lit("?utm_source=google&utm_medium=cpc&utm_campaign=spring"),
            F.lit("?utm_source=letter&utm_medium=email&utm_campaign=news"),
        ),
        (_hash(visit, "campaign", 3) + 1).cast("int"),
    )
    page = F.concat(F.lit("https://shop.example/product/"), _hash(F.col("id"), "page", 5_000).cast("string"))
    return F.when(F.col("place") == 0, F.concat(page, query)).otherwise(page)


def _hash(number: Column, what: str, among: int) -> Column:
    return F.pmod(F.xxhash64(number, F.lit(what)), F.lit(among))
