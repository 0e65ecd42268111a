"""Conversions: goals reached, each counted once."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from gold.persons import name_persons


def find_conversions(events: DataFrame, identities: DataFrame) -> DataFrame:
    """One row a conversion: the earliest event of its goal and order (time, then UID).

    Args:
        events: silver.events without those of bots; those with a goal count.
        identities: silver.identities.

    Returns:
        conversion_id, event_id, visitor_id, person_id, goal, order_id, converted_at, value, currency.
    """
    goals = events.where(F.col("goal").isNotNull()).withColumn("conversion_id", conversion_id())
    rank = F.row_number().over(Window.partitionBy("conversion_id").orderBy("event_time", "event_id"))
    first = goals.withColumn("_rank", rank).where("_rank = 1")
    return name_persons(first, identities).select(
        "conversion_id",
        "event_id",
        "visitor_id",
        "person_id",
        "goal",
        "order_id",
        F.col("event_time").alias("converted_at"),
        "value",
        "currency",
    )


def reached_at(events: DataFrame, ids: DataFrame) -> DataFrame:
    """Every time that a conversion has or had by its events: what a crash left behind stands at one of them.

    Args:
        events: silver.events.
        ids: conversion_id.

    Returns:
        converted_at.
    """
    goals = events.where(F.col("goal").isNotNull()).select(
        conversion_id().alias("conversion_id"), F.col("event_time").alias("converted_at")
    )
    return goals.join(ids, "conversion_id", "left_semi").select("converted_at")


def conversion_id() -> Column:
    """Derived from goal and order, so that it outlives an earlier copy that comes late."""
    kind = F.when(F.col("order_id").isNotNull(), F.lit("order")).otherwise("event")
    parts = F.to_json(F.array("goal", kind, F.coalesce("order_id", "event_id")))
    return F.left(F.sha2(parts, 256), F.lit(32))


def anchor_refunds(conversions: DataFrame, refunds: dict[str, str]) -> DataFrame:
    """Say whose touches earn or lose a conversion: its own, or for a refund those of its order.

    Args:
        conversions: as `find_conversions` gives them.
        refunds: goal of a refund -> goal of the order it takes back.

    Returns:
        The same rows with `anchor_id`, `anchor_person` and `anchor_at`: the conversion that touches
        are sought for.
    """
    orders = conversions.select(
        F.col("goal").alias("_goal"),
        F.col("order_id").alias("_order"),
        F.col("conversion_id").alias("_id"),
        F.col("person_id").alias("_person"),
        F.col("converted_at").alias("_at"),
    ).where(F.col("_goal").isin(*refunds.values()) & F.col("_order").isNotNull())
    of_order = F.lit(False)
    for refund, goal in refunds.items():
        of_order = of_order | ((F.col("goal") == refund) & (F.col("_goal") == goal))
    joined = conversions.join(orders, (F.col("order_id") == F.col("_order")) & of_order, "left")
    return joined.withColumns(
        {
            "anchor_id": F.coalesce("_id", "conversion_id"),
            "anchor_person": F.coalesce("_person", "person_id"),
            "anchor_at": F.coalesce("_at", "converted_at"),
        }
    ).drop("_goal", "_order", "_id", "_person", "_at")


def mark_final(conversions: DataFrame, watermark: datetime) -> DataFrame:
    """Say which conversions the watermark has passed."""
    return conversions.withColumn("is_final", F.col("converted_at") <= F.lit(watermark))
