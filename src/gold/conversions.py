"""Conversions: goals reached, each counted once."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

_SAID = (
    "conversion_id", "event_id", "visitor_id", "goal", "order_id", "converted_at", "value", "currency", "url",
    "referrer", "visit", "rules_version",
)  # fmt: skip


def read_goals(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Each goal event as a conversion of its own, with the session it came in.

    Args:
        events: silver.events; those with a goal count.
        sessions: silver.sessions that hold them.

    Returns:
        What an event says of a conversion: the columns of gold.conversions that hang on no other event.
    """
    goals = events.where(F.col("goal").isNotNull())
    visits = sessions.select(
        F.col("visitor_id").alias("_who"),
        "started_at",
        "ended_at",
        F.struct(
            "session_id",
            F.col("first_event_id").alias("event_id"),
            F.col("started_at").alias("at"),
            F.col("entry_url").alias("url"),
            F.col("entry_referrer").alias("referrer"),
            "channel",
        ).alias("visit"),
    )
    held = (F.col("visitor_id") == F.col("_who")) & F.col("event_time").between(
        F.col("started_at"), F.col("ended_at")
    )
    return (
        goals.drop("channel")
        .join(visits, held, "left")
        .withColumns({"conversion_id": conversion_id(), "converted_at": F.col("event_time")})
        .select(*_SAID)
    )


def keep_first(goals: DataFrame) -> DataFrame:
    """One row a conversion: the earliest of its goals (time, then UID).

    Args:
        goals: as `read_goals` gives them, and published ones; of one that is both, a row that names the
            session stays.
    """
    by_time = Window.partitionBy("conversion_id").orderBy(
        "converted_at", "event_id", F.col("visit").isNull(), F.col("_published")
    )
    return (
        goals.withColumn("_rank", F.row_number().over(by_time)).where("_rank = 1").drop("_rank", "_published")
    )


def conversion_id() -> Column:
    """Derived from goal and order, so that it outlives an earlier copy that comes late."""
    kind = F.when(F.col("order_id").isNotNull(), F.lit("order")).otherwise("event")
    parts = F.to_json(F.array("goal", kind, F.coalesce("order_id", "event_id")))
    return F.left(F.sha2(parts, 256), F.lit(32))


def anchor_refunds(conversions: DataFrame, refunds: dict[str, str]) -> DataFrame:
    """Say whose touches earn or lose a conversion: its own, or for a refund those of its order.

    Args:
        conversions: with person_id; a refund's order is among them, if there is one.
        refunds: goal of a refund -> goal of the order it takes back.

    Returns:
        The same rows with `anchor`, the conversion that touches are sought for: id, event_id, person, at,
        url, referrer, visit.
    """
    anchor = F.struct(
        F.col("conversion_id").alias("id"),
        "event_id",
        F.col("visitor_id").alias("visitor"),
        F.col("person_id").alias("person"),
        F.col("converted_at").alias("at"),
        "url",
        "referrer",
        "visit",
    )
    own = conversions.withColumn("_own", anchor)
    orders = own.where(F.col("goal").isin(*refunds.values()) & F.col("order_id").isNotNull()).select(
        F.col("goal").alias("_goal"), F.col("order_id").alias("_order"), F.col("_own").alias("_of_order")
    )
    of_order = F.lit(False)
    for refund, goal in refunds.items():
        of_order = of_order | ((F.col("goal") == refund) & (F.col("_goal") == goal))
    joined = own.join(orders, (F.col("order_id") == F.col("_order")) & of_order, "left")
    return joined.withColumn("anchor", F.coalesce("_of_order", "_own")).drop(
        "_goal", "_order", "_of_order", "_own"
    )


def mark_final(conversions: DataFrame, watermark: datetime) -> DataFrame:
    """Say which conversions the watermark has passed."""
    return conversions.withColumn("is_final", F.col("converted_at") <= F.lit(watermark))
