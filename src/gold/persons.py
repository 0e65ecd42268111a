"""Persons: who is behind a visitor, as far as it has been said."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def name_persons(rows: DataFrame, identities: DataFrame) -> DataFrame:
    """Add `person_id`: the visitor's user id, else the visitor.

    Args:
        rows: with visitor_id, a micro-batch's.
        identities: visitor_id and user_id.
    """
    theirs = F.broadcast(rows.select("visitor_id").distinct())
    users = identities.join(theirs, "visitor_id", "left_semi")
    named = rows.join(users.withColumnRenamed("user_id", "_user"), "visitor_id", "left")
    return named.withColumn("person_id", F.coalesce("_user", "visitor_id")).drop("_user")


def find_visitors(persons: DataFrame, identities: DataFrame) -> DataFrame:
    """The visitors behind some persons.

    Args:
        persons: person_id, each once.
        identities: visitor_id and user_id.

    Returns:
        visitor_id and person_id; a visitor nobody has named is taken to be there.
    """
    wanted = F.broadcast(persons)
    named = identities.withColumnRenamed("user_id", "person_id").join(wanted, "person_id", "left_semi")
    alone = persons.select(F.col("person_id").alias("visitor_id"), "person_id")
    others = identities.join(F.broadcast(alone.select("visitor_id")), "visitor_id", "left_semi")
    return named.unionByName(alone.join(others, "visitor_id", "left_anti"))
