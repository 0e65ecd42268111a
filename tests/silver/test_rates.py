"""Exchange rates by themselves, on frames of a few rows."""

from datetime import timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from kit.records import NOON
from silver.rates import merge_rates

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def test_a_rate_holds_until_the_next_and_the_later_in_bronze_counts(spark: SparkSession) -> None:
    place = "ingested_at timestamp, topic string, partition int, offset bigint"
    accepted = f"currency string, valid_from timestamp, rate decimal(19,10), {place}"
    stored = (
        "currency string, valid_from timestamp, valid_to timestamp, records bigint, rate decimal(19,10), "
        + place
    )
    known = [("USD", NOON, None, 2, Decimal("0.9"), NOON, "t", 1, 5)]
    new = [
        ("USD", NOON, Decimal("0.8"), NOON, "t", 1, 4),
        ("USD", NOON + HOUR, Decimal("0.7"), NOON + SECOND, "t", 0, 1),
        ("USD", NOON + HOUR, Decimal("0.6"), NOON + SECOND, "t", 0, 0),
        ("GBP", NOON + HOUR, Decimal("1.1"), NOON + SECOND, "t", 0, 2),
    ]
    merged = merge_rates(
        spark.createDataFrame(known, stored).coalesce(1), spark.createDataFrame(new, accepted).coalesce(1)
    )
    rows = merged.orderBy("currency", "valid_from").collect()
    told = [(row.currency, float(row.rate), row.records, row.valid_to is None, row.offset) for row in rows]
    assert told == [("GBP", 1.1, 1, True, 2), ("USD", 0.9, 3, False, 5), ("USD", 0.7, 2, True, 1)]
    assert rows[1].valid_to == rows[2].valid_from
