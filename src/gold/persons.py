"""Persons: who is behind a visitor, as far as it has been said."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def name_persons(rows: DataFrame, identities: DataFrame) -> DataFrame:
    """Add `person_id`: the visitor's user id, else the visitor.

    Args:
        rows: with visitor_id.
        identities: silver.identities.
    """
    users = identities.select("visitor_id", F.col("user_id").alias("_user"))
    named = rows.join(users, "visitor_id", "left")
    return named.withColumn("person_id", F.coalesce("_user", "visitor_id")).drop("_user")
