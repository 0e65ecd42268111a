"""The conversions of a micro-batch: those that stood, and those that stand in their place."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.conversions import anchor_refunds, keep_first, mark_final, read_goals
from gold.due import due_conversions
from gold.journeys import count_touches, trace_journeys
from gold.near import Near
from gold.persons import find_visitors, name_persons
from gold.rates import report_values
from gold.rules.models import LOOK_BACK
from gold.spans import Stretch
from gold.touched import Touched
from gold.view import View
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.frames import settle
from lakehouse.intervals import HOUR


@dataclass(frozen=True)
class Converted:
    """What becomes of gold.conversions.

    Args:
        ids: conversion_id of those that may be others.
        before: rows of theirs that stand.
        now: what is in their place.
        journeys: as `gold.journeys.trace_journeys` gives them, of what is.
        times: every time that one of them is, was or may have been at: what a crash left stands at one.
    """

    ids: DataFrame
    before: DataFrame
    now: DataFrame
    journeys: DataFrame
    times: DataFrame


def convert_again(
    published: DataFrame,
    near: Near,
    touched: Touched,
    view: View,
    refunds: Mapping[str, str],
    currency: str,
) -> Converted:
    """Find the conversions that a micro-batch may change, and what they are now.

    Args:
        published: gold.conversions as it stands.
        near: what lies near the micro-batch's events.
        touched: its touches.
        view: what silver knows.
        refunds: goal of a refund -> goal of the order it takes back.
        currency: the reporting currency.
    """
    goals = settle(read_goals(near.events, near.sessions))
    due = due_conversions(published, goals.select("conversion_id", "order_id"), touched.changed(), near, view)
    ids = settle(due)
    mine = F.broadcast(ids)
    before = settle(published.join(mine, "conversion_id", "left_semi"))
    told = goals.join(mine, "conversion_id", "left_semi")
    standing = view.people(before).select(*told.columns)
    first = keep_first(_marked(told, False).unionByName(_marked(standing, True)))
    valued = report_values(name_persons(settle(first), view.identities), view.rates, currency)
    anchored = settle(anchor_refunds(valued, dict(refunds)))
    journeys = settle(trace_journeys(anchored, _touches_of(anchored, touched, view)))
    now = mark_final(anchored.join(count_touches(journeys), "conversion_id"), view.watermark).select(
        *CONVERSIONS.column_names
    )
    times = before.select("visitor_id", "converted_at").unionByName(told.select("visitor_id", "converted_at"))
    return Converted(ids, before, settle(now), journeys, settle(times.distinct()))


def _marked(rows: DataFrame, published: bool) -> DataFrame:
    return rows.withColumn("_published", F.lit(published))


def _touches_of(conversions: DataFrame, touched: Touched, view: View) -> DataFrame:
    """The touches of everyone concerned, as far back as any of the conversions looks, with person_id."""
    anchors = conversions.select(F.col("anchor.person").alias("person_id"), F.col("anchor.at").alias("at"))
    since = anchors.withColumn("since", F.col("at") - F.lit(LOOK_BACK))
    looked = Stretch(since, "since", "at", margin=timedelta(0), slot=HOUR)
    visitors = settle(find_visitors(settle(anchors.select("person_id").distinct()), view.identities))
    theirs = touched.those(looked.holds("touched_at"))
    return theirs.join(F.broadcast(visitors), "visitor_id")
