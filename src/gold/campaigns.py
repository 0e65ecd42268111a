"""Campaigns: what was shown, clicked, visited and earned, by day."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.persons.models import MODELS
from gold.days import Days

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")
_KEY = ("day", *_CAMPAIGN)
_COUNTS = ("impressions", "clicks", "visits")
_EXACT = "decimal(19,18)"
"""Credits are summed so: a sum of doubles would depend on the order that rows are read in."""


def measure_campaigns(
    impressions: DataFrame, clicks: DataFrame, sessions: DataFrame, attribution: DataFrame, days: Days
) -> DataFrame:
    """What campaigns come to, by model.

    What no campaign and no promotion stands behind is a row of its own, without a name, so that a day's rows
    sum to all that was earned on it.

    Args:
        impressions: silver.events of role `impression`, of these days.
        clicks: gold.touches of kind `click`, of these days.
        sessions: silver.sessions that started on these days.
        attribution: gold.attribution of the conversions of these days.
        days: which.

    Returns:
        gold.campaign_performance.
    """
    counted = [
        _name(rows).groupBy(days.day_of(at), *_CAMPAIGN).agg(F.count("*").alias(name))
        for rows, at, name in (
            (impressions, "event_time", "impressions"),
            (clicks, "touched_at", "clicks"),
            (sessions.withColumn("promotion_id", F.lit(None).cast("string")), "started_at", "visits"),
        )
    ]
    seen = counted[0]
    for more in counted[1:]:
        seen = seen.unionByName(more, allowMissingColumns=True)
    models = F.explode(F.array(*(F.lit(model) for model in MODELS))).alias("model")
    credited = _name(attribution).select(
        days.day_of("converted_at"),
        *_CAMPAIGN,
        "model",
        "credit",
        F.col("credited_reporting_value").alias("_value"),
    )
    rows = seen.select("*", models).unionByName(credited, allowMissingColumns=True)
    return rows.groupBy(*_KEY, "model").agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _COUNTS),
        F.coalesce(F.sum(F.col("credit").cast(_EXACT)).cast("double"), F.lit(0.0)).alias("conversions"),
        F.coalesce(F.sum("_value"), F.lit(0)).try_cast("decimal(18,4)").alias("credited_reporting_value"),
    )


def _name(rows: DataFrame) -> DataFrame:
    """The campaign of each row: its own, else its promotion."""
    own = F.coalesce(*_CAMPAIGN).isNotNull()

    def part(name: str) -> Column:
        other = F.col("promotion_id") if name == "campaign_name" else F.lit(None).cast("string")
        return F.when(own, F.col(name)).otherwise(other)

    return rows.withColumns({name: part(name) for name in _CAMPAIGN})
