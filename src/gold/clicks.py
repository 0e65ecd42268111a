"""Counted clicks: a click that follows the last counted one too soon is a nervous finger."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.rules.clicks import PAUSE_MICROS


def count_clicks(clicks: DataFrame) -> DataFrame:
    """Keep each visitor's first click on a promotion, and each that comes a pause after the last kept.

    Args:
        clicks: silver.events of role `click`, every click of a visitor on a promotion from some point
            that no pause is open at.

    Returns:
        event_id of the clicks that count.
    """
    click = F.struct(F.unix_micros("event_time").alias("at"), F.col("event_id").alias("id"))
    by_promotion = clicks.groupBy("visitor_id", "promotion_id").agg(
        F.sort_array(F.collect_list(click)).alias("clicks")
    )
    return by_promotion.select(F.explode(_counted(F.col("clicks"))).alias("event_id"))


def _counted(clicks: Column) -> Column:
    start = F.struct(F.lit(None).cast("bigint").alias("last"), F.array().cast("array<string>").alias("ids"))

    def take(taken: Column, click: Column) -> Column:
        counts = taken["last"].isNull() | (click["at"] - taken["last"] >= PAUSE_MICROS)
        more = F.struct(click["at"].alias("last"), F.array_append(taken["ids"], click["id"]).alias("ids"))
        return F.when(counts, more).otherwise(taken)

    return F.aggregate(clicks, start, take, lambda taken: taken["ids"])
