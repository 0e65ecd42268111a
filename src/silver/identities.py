"""Identities: who is behind a visitor, as far as it has been said."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.silver import IDENTITIES


def identify_visitors(events: DataFrame) -> DataFrame:
    """What events say of their visitors.

    Args:
        events: visitor_id, user_id, event_time, event_id.

    Returns:
        The facts of silver.identities; no row for a visitor who never said.
    """
    said = events.where(F.col("user_id").isNotNull())
    latest = F.max(F.struct(F.col("event_time").alias("identified_at"), "event_id", "user_id"))
    ever = F.sort_array(F.collect_set("user_id"))
    found = said.groupBy("visitor_id").agg(latest.alias("latest"), ever.alias("user_ids"))
    return found.select("visitor_id", "latest.*", "user_ids").select(*IDENTITIES.facts)


def merge_identities(known: DataFrame, found: DataFrame) -> DataFrame:
    """Bring together what was known and what was found, in whatever order events came.

    Args:
        known: silver.identities, of the visitors found at least.
        found: as `identify_visitors` gives it.

    Returns:
        The facts of silver.identities, one row a visitor.
    """
    both = known.select(*IDENTITIES.facts).unionByName(found)
    latest = F.max(F.struct("identified_at", "event_id", "user_id"))
    ever = F.sort_array(F.array_distinct(F.flatten(F.collect_list("user_ids"))))
    merged = both.groupBy("visitor_id").agg(latest.alias("latest"), ever.alias("user_ids"))
    return merged.select("visitor_id", "latest.*", "user_ids").select(*IDENTITIES.facts)
