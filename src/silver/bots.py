"""Bots: visitors that say so, and those who are too quick to be anyone."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.contracts.silver import BOTS
from silver.rules.bots import MOST_EVENTS, RATE, SPAN_MICROS, USER_AGENT, BotRules


def named_bots(events: DataFrame, rules: BotRules) -> DataFrame:
    """Visitors whose user agent is on the list, each since the first event that carries such a one.

    Args:
        events: visitor_id, user_agent, event_time.
        rules: the list.

    Returns:
        The facts of silver.bots.
    """
    # A condition on a grouped column would be tried on every event; this one is tried once a group.
    agents = events.groupBy("visitor_id", "user_agent").agg(
        F.max("user_agent").alias("agent"), F.min("event_time").alias("since")
    )
    named = agents.where(F.col("agent").rlike(rules.pattern))
    return _bots(named.groupBy("visitor_id").agg(F.min("since").alias("since")), USER_AGENT)


def quick_bots(events: DataFrame) -> DataFrame:
    """Visitors with too many events in any span, each since the first event that is one too many.

    Args:
        events: visitor_id, event_time: of each visitor every event less than the span away from any that
            may have made it one. They are looked at twice.

    Returns:
        The facts of silver.bots.
    """
    busy = events.groupBy("visitor_id").count().where(F.col("count") > MOST_EVENTS).select("visitor_id")
    in_order = Window.partitionBy("visitor_id").orderBy("event_time")
    first = F.unix_micros(F.lag("event_time", MOST_EVENTS).over(in_order))
    timed = events.join(F.broadcast(busy), "visitor_id", "left_semi").withColumn("_first", first)
    quick = timed.where(F.unix_micros("event_time") - F.col("_first") < SPAN_MICROS)
    return _bots(quick.groupBy("visitor_id").agg(F.min("event_time").alias("since")), RATE)


def merge_bots(known: DataFrame, found: DataFrame) -> DataFrame:
    """Bring together what was known and what was found: of each visitor the earliest, the list first.

    Args:
        known: silver.bots, of the visitors found at least.
        found: any number of findings a visitor.

    Returns:
        The facts of silver.bots, one row a visitor.
    """
    both = known.select(*BOTS.facts).unionByName(found)
    earliest = F.min(F.struct("since", _after_the_list().alias("_rank"), "reason"))
    merged = both.groupBy("visitor_id").agg(earliest.alias("earliest"))
    return merged.select("visitor_id", "earliest.*").select(*BOTS.facts)


def _bots(found: DataFrame, reason: str) -> DataFrame:
    return found.withColumn("reason", F.lit(reason)).select(*BOTS.facts)


def _after_the_list() -> Column:
    return (F.col("reason") != USER_AGENT).cast("int")
