"""Journeys: the touches that led to a conversion."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gold.rules.models import LOOK_BACK


def trace_journeys(conversions: DataFrame, touches: DataFrame) -> DataFrame:
    """Each conversion with the person's touches of the look-back, in order.

    Args:
        conversions: with anchor, as `gold.conversions.anchor_refunds` gives it.
        touches: with person_id.

    Returns:
        One row a conversion and touch: the conversion's columns, the touch's as a struct `touch`,
        `position` (1 = earliest) and `touches`, their number. A conversion without touches has one row:
        touch null, position 0, touches 0.
    """
    columns = [name for name in touches.columns if name != "person_id"]
    packed = touches.select(F.col("person_id").alias("_person"), F.struct(*columns).alias("touch"))
    at, touched = F.col("anchor.at"), F.col("touch.touched_at")
    within = (F.col("anchor.person") == F.col("_person")) & (touched <= at)
    within &= touched >= at - F.lit(LOOK_BACK)
    joined = conversions.join(packed, within, "left").drop("_person")
    of_conversion = Window.partitionBy("conversion_id")
    in_order = of_conversion.orderBy("touch.touched_at", "touch.touch_id")
    found = F.col("touch").isNotNull()
    return joined.withColumns(
        {
            "position": F.when(found, F.row_number().over(in_order)).otherwise(0),
            "touches": F.count("touch").over(of_conversion),
        }
    )


def count_touches(journeys: DataFrame) -> DataFrame:
    """conversion_id and touches, one row a conversion."""
    return journeys.groupBy("conversion_id").agg(F.first("touches").alias("touches"))
