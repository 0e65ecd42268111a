"""Paths of channels with and without a conversion, counted by period."""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from folds.persons.models import DIRECT
from gold.credit.persons import all_spans, with_own_views, with_person
from gold.models.model_periods import in_period, period_structs
from lakehouse.rows.checkpointing import checkpoint

_MONEY = "decimal(18,4)"


def find_paths(
    touches: DataFrame,
    conversions: DataFrame,
    identities: DataFrame,
    zone: str,
    watermark: datetime,
    look_back: timedelta,
    view_through: bool = False,
) -> DataFrame:
    """Count the paths of each period.

    A touch is on the path to the person's next conversion if it is within the look-back. Touches of a period
    that are on no path to a conversion of that period form null paths: one per person and gap between
    conversions.

    Args:
        touches: gold.touches.
        conversions: rows of gold.conversions that count.
        identities: silver.identities.
        zone: the time zone of the months.
        watermark: the watermark of gold.
        look_back: maximum time from a touch to the conversion on its path.
        view_through: whether impressions that led to a visit without a click are touches.

    Returns:
        One row per period and path: period_start, period_end, channels (in order, at least one), conversions,
        value (decimal, of these conversions), nulls.
    """
    steps = checkpoint(
        _mark_paths(_name_next_goals(_steps(touches, conversions, identities, view_through)), look_back)
    )
    step = F.struct("at", "id", "channel")
    taken = F.transform(
        F.sort_array(F.collect_list(F.when(~F.col("is_goal"), step))), lambda each: each["channel"]
    )
    led = _count_converted(steps, taken).withColumn(
        "period", F.explode(period_structs(F.col("goal.at"), zone, watermark))
    )
    lost = _count_lost(
        steps.withColumn("period", F.explode(period_structs(F.col("at"), zone, watermark))), taken
    )
    columns = ("period", "channels", "conversions", "value", "nulls")
    ways = led.select(*columns).unionByName(lost.select(*columns))
    counted = ways.groupBy("period", "channels").agg(
        F.sum("conversions").alias("conversions"),
        F.sum("value").alias("value"),
        F.sum("nulls").alias("nulls"),
    )
    return counted.select("period.*", *columns[1:])


def _steps(
    touches: DataFrame, conversions: DataFrame, identities: DataFrame, view_through: bool
) -> DataFrame:
    """Touches and conversions as steps of persons: person_id, at, is_goal, id, channel, value."""
    known = with_person(touches, identities, "touched_at")
    if view_through:
        known = _with_view_touches(with_own_views(known, all_spans(identities, known)))
    touched = known.where("coalesce(earns_credit, true)").select(
        "person_id",
        F.col("touched_at").alias("at"),
        F.lit(False).alias("is_goal"),
        F.col("touch_id").alias("id"),
        "channel",
        F.lit(None).cast(_MONEY).alias("value"),
    )
    reached = with_person(conversions, identities, "converted_at").select(
        "person_id",
        F.col("converted_at").alias("at"),
        F.lit(True).alias("is_goal"),
        F.col("conversion_id").alias("id"),
        F.lit(None).cast("string").alias("channel"),
        F.coalesce("reporting_value", F.lit(0).cast(_MONEY)).alias("value"),
    )
    return touched.unionByName(reached)


def _with_view_touches(touches: DataFrame) -> DataFrame:
    """Touches, and impressions with a view-through as touches of the visit's person; each once per person.

    Args:
        touches: gold.touches, with person_id.
    """
    columns = ("touch_id", "person_id", "touched_at", "channel", "earns_credit")
    views = touches.where("view IS NOT NULL").select(
        F.col("view.event_id").alias("touch_id"),
        "person_id",
        F.col("view.at").alias("touched_at"),
        "view.channel",
        F.lit(True).alias("earns_credit"),
    )
    return touches.select(*columns).unionByName(views.dropDuplicates(["touch_id", "person_id"]))


def _name_next_goals(steps: DataFrame) -> DataFrame:
    """Add `goal`: the person's next conversion, or for a conversion the conversion itself.

    The window runs backwards in time. At the same time, conversions come before touches.
    """
    backwards = Window.partitionBy("person_id").orderBy(F.desc("at"), F.desc("is_goal"), F.desc("id"))
    goal = F.when(F.col("is_goal"), F.struct("id", "at"))
    seen = backwards.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return steps.withColumn("goal", F.last(goal, ignorenulls=True).over(seen))


def _mark_paths(steps: DataFrame, look_back: timedelta) -> DataFrame:
    """Add `is_on_path`: whether a step is a conversion, or a touch on the path to the next."""
    within = F.col("at") >= F.col("goal.at") - F.lit(look_back)
    return steps.withColumn("is_on_path", F.coalesce(within, F.lit(False)))


def _count_converted(steps: DataFrame, taken: Column) -> DataFrame:
    """One row per conversion: goal, channels, counts. Without a touch the channel is Direct."""
    led = steps.where(F.col("is_on_path")).groupBy("goal")
    one = led.agg(taken.alias("taken"), F.max("value").alias("value"))
    channels = F.when(F.size("taken") > 0, F.col("taken")).otherwise(F.array(F.lit(DIRECT)))
    return one.withColumns({"channels": channels, "conversions": F.lit(1), "nulls": F.lit(0)})


def _count_lost(steps: DataFrame, taken: Column) -> DataFrame:
    """One row per null path: period, channels, counts."""
    converts = in_period(F.col("period"), F.col("goal.at"))
    left = steps.where(~F.col("is_goal") & ~(converts & F.col("is_on_path")))
    gaps = left.groupBy("person_id", "period", F.when(converts, F.col("goal.id")).alias("gap"))
    lost = gaps.agg(taken.alias("channels"))
    return lost.withColumns({"conversions": F.lit(0), "value": F.lit(0).cast(_MONEY), "nulls": F.lit(1)})
