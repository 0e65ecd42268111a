"""What becomes of each record: event, copy, reject, heartbeat or exchange rate."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

EVENT, DUPLICATE, REJECTED, HEARTBEAT = "event", "duplicate", "rejected", "heartbeat"
RATE = "rate"


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
