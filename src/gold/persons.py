"""Persons: who is behind a visitor, as far as it has been said."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def identify_visitors(events: DataFrame) -> DataFrame:
    """The user id of each visitor's latest event that carries one (event time, then UID).

    Args:
        events: silver.events.

    Returns:
        visitor_id, user_id; no row for a visitor who never said.
    """
    said = events.where(F.col("user_id").isNotNull())
    latest = F.max_by("user_id", F.struct("event_time", "event_id"))
    return said.groupBy("visitor_id").agg(latest.alias("user_id"))


def name_persons(rows: DataFrame, identities: DataFrame) -> DataFrame:
    """Add `person_id`: the visitor's user id, else the visitor."""
    named = rows.join(identities.withColumnRenamed("user_id", "_user"), "visitor_id", "left")
    return named.withColumn("person_id", F.coalesce("_user", "visitor_id")).drop("_user")
