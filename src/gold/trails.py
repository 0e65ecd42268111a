"""Trails: the impression, click and visit that a conversion came of, and what ties each to the next."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.contracts.gold import TRAILS

_STEP = (
    "struct<kind: string, event_id: string, at: timestamp, url: string, referrer: string, "
    "promotion_id: string, matched_on: string>"
)


def follow_trails(journeys: DataFrame) -> DataFrame:
    """Each conversion's trail, as far back as it can be followed.

    The click is the person's last one, counted and within the look-back, that is tied to the visit of the
    conversion: it is in it (`session`), or the visit began, no earlier, at the address that was clicked
    (`url`), or came from there (`referrer`). The impression is the one that the click is on. A refund has
    the trail of its order, and the order's goal before its own.

    Args:
        journeys: as `gold.journeys.trace_journeys` gives them.

    Returns:
        gold.trails.
    """
    matched = journeys.withColumn("_matched_on", _tie())
    best = Window.partitionBy("conversion_id").orderBy(F.col("_matched_on").isNull(), F.desc("position"))
    one = matched.withColumn("_rank", F.row_number().over(best)).where("_rank = 1")
    steps = F.filter(F.array(*_steps()), lambda step: step.isNotNull())
    told = one.select("conversion_id", "converted_at", F.posexplode(steps).alias("_place", "_step"))
    return told.select(
        "conversion_id", (F.col("_place") + 1).alias("step"), "converted_at", "_step.*"
    ).select(*TRAILS.column_names)


def _tie() -> Column:
    """What ties a click to the visit; null if nothing does."""
    touch, visit = F.col("touch"), F.col("anchor.visit")
    in_visit = (touch["visitor_id"] == F.col("anchor.visitor")) & (touch["touched_at"] >= visit["at"])
    before = touch["touched_at"] <= visit["at"]
    tie = (
        F.when(in_visit, "session")
        .when(before & (_page(touch["url"]) == _page(visit["url"])), "url")
        .when(before & (_page(touch["url"]) == _page(visit["referrer"])), "referrer")
    )
    return F.when(touch["kind"] == "click", tie)


def _page(address: Column) -> Column:
    """An address without the place on the page."""
    return F.substring_index(address, "#", 1)


def _steps() -> list[Column]:
    touch, seen, anchor = F.col("touch"), F.col("touch.impression"), F.col("anchor")
    clicked, promotion = F.col("_matched_on").isNotNull(), F.col("touch.promotion_id")
    at_click = F.struct("touch.event_id", touch["touched_at"].alias("at"), "touch.url", "touch.referrer")
    own = F.struct("event_id", F.col("converted_at").alias("at"), "url", "referrer")
    none = F.lit(None).cast("string")
    return [
        F.when(clicked & seen.isNotNull(), _step("impression", seen, promotion, F.lit("promotion"))),
        F.when(clicked, _step("click", at_click, promotion, F.col("_matched_on"))),
        F.when(anchor["visit"].isNotNull(), _step("visit", anchor["visit"], none, F.lit("session"))),
        F.when(anchor["id"] != F.col("conversion_id"), _step("goal", anchor, none, F.lit("order"))),
        _step("goal", own, none, none),
    ]


def _step(kind: str, event: Column, promotion: Column, matched_on: Column) -> Column:
    return F.struct(
        F.lit(kind).alias("kind"),
        *(event[name].alias(name) for name in ("event_id", "at", "url", "referrer")),
        promotion.alias("promotion_id"),
        matched_on.alias("matched_on"),
    ).cast(_STEP)
