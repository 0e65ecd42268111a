"""What becomes of each record: event, copy, reject, heartbeat or exchange rate."""

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

TYPES = ("page", "screen", "track", "identify", "group", "alias")
LONGEST_ID = 256  # code points
FUTURE = timedelta(minutes=5)

EVENT, DUPLICATE, REJECTED, HEARTBEAT = "event", "duplicate", "rejected", "heartbeat"
RATE = "rate"


def why_unusable() -> Column:
    """Why a parsed record is refused: the first reason that applies; null for an event or a heartbeat."""
    return F.when(F.col("heartbeat_at").isNull(), _reason())


def _reason() -> Column:
    empty = F.col("raw").isNull() | (F.octet_length("raw") == 0)
    length = F.char_length("event_id")
    ahead = F.unix_micros("event_time") - F.unix_micros("arrival_time")
    return (
        F.when(empty, "empty")
        .when(~F.col("is_object"), "not_json")
        .when(F.col("event_id").isNull(), "no_message_id")
        .when((length == 0) | (length > LONGEST_ID), "bad_message_id")
        .when(F.col("type").isNull(), "no_type")
        .when(~F.col("type").isin(*TYPES), "unknown_type")
        .when(F.col("visitor_id").isNull(), "no_identity")
        .when(ahead > FUTURE // timedelta(microseconds=1), "future")
    )


def give_verdicts(judged: DataFrame) -> DataFrame:
    """Name each record's fate.

    Args:
        judged: with `heartbeat_at`, `reason`, `rate`, and `first_offset`, the record that stayed, for a
            copy.

    Returns:
        The same rows with `verdict`: event, duplicate, rejected, heartbeat or rate.
    """
    verdict = (
        F.when(F.col("heartbeat_at").isNotNull(), HEARTBEAT)
        .when(F.col("reason").isNotNull(), REJECTED)
        .when(F.col("rate").isNotNull(), RATE)
        .when(F.col("first_offset").isNotNull(), DUPLICATE)
        .otherwise(EVENT)
    )
    return judged.withColumn("verdict", verdict)
