"""Journeys: paths of channels that lead to conversions."""

from dataclasses import dataclass
from datetime import timedelta

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query, sum_seen
from tables.table_cache import Ask

from metrics.attribution import is_counted, touches
from millrace.explain.trail_steps import WORDS, in_words

CONVERTED = "converted"
NO_TOUCH = "no touch"
ARROW = " › "
BANDS = (
    ("at once", timedelta(minutes=1)),
    ("within an hour", timedelta(hours=1)),
    ("within a day", timedelta(days=1)),
    ("2–3 days", timedelta(days=3)),
    ("4–7 days", timedelta(days=7)),
    ("8–14 days", timedelta(days=14)),
    ("15–30 days", timedelta(days=30)),
)

_LONGER = "over 30 days"  # with a longer look-back
_MOST_ROWS = 400_000  # of touches read
_MOST_PATHS = 200
_LONGEST = 12  # channels shown of a path
_DEEPEST = 3  # touches before a conversion in the flow


@dataclass(frozen=True)
class Journeys:
    """Conversions of a period by path. Refunds and cancellations have no path.

    Args:
        conversions: number of conversions.
        single: number of conversions with at most one touch.
        reporting_value: value of all conversions, refunds and cancellations taken off; here and by path null
            if the viewer's role does not see it.
        touches: mean number of touches; a conversion without one counts with 0.
        paths: path, conversions, reporting_value, touches, days (mean time to convert); most first.
        flow: step (0 is the conversion, 1 the last touch, …), source, target, conversions.
        times: band, conversions; all bands, in order, and a longer one if it has conversions.
        cut: whether there were more touches than are read.
    """

    conversions: int
    single: int
    reporting_value: float | None
    touches: float
    paths: pl.DataFrame
    flow: pl.DataFrame
    times: pl.DataFrame
    cut: bool


def journeys(ask: Ask, scope: Scope, unseen: frozenset[str]) -> Journeys:
    """The journeys in scope.

    Args:
        ask: runs queries.
        scope: the period. Channels or campaigns select journeys with at least one such touch.
        unseen: columns of gold.attribution that the viewer's role does not see.
    """
    columns = (
        "conversion_id",
        "position",
        "touched_at",
        "converted_at",
        "channel",
        "is_counted",
        "credited_reporting_value",
    )
    names = ("campaign_name", "promotion_id") if scope.campaigns else ()
    query = Query("gold.attribution", (*columns, *names), limit=_MOST_ROWS)
    rows = ask(scope.within(query.only("model", "=", "linear"), "converted_at"))
    cut = rows.height == _MOST_ROWS
    if scope.channels or scope.campaigns:
        chosen = scope.campaign_of(rows) if scope.campaigns else rows
        of_channels = pl.col("channel").is_in(scope.channels) if scope.channels else pl.lit(value=True)
        rows = rows.join(chosen.filter(of_channels), on="conversion_id", how="semi")
    if "credited_reporting_value" not in unseen:  # else the nulls are of the mask, and no sum is known
        rows = rows.with_columns(pl.col("credited_reporting_value").fill_null(0))
    value = rows.select(sum_seen("credited_reporting_value").cast(pl.Float64)).item()
    return _summed(_by_conversion(rows.filter(is_counted())), value, cut)


def trail_steps(ask: Ask, scope: Scope) -> pl.DataFrame:
    """The kinds of trail steps of all conversions in the period, of any channel.

    Returns:
        step (in words), conversions (with such a step), steps; in trail order.
    """
    measures = (Measure("conversions", "distinct", "conversion_id"), Measure("steps", "count"))
    found = ask(scope.within(Query("gold.trails", ("kind", "matched_on"), measures), "converted_at"))
    order = {key: place for place, key in enumerate(WORDS)}
    rows = [
        (order.get((kind, tie), len(order)), in_words(kind, tie), conversions, steps)
        for kind, tie, conversions, steps in found.iter_rows()
    ]
    schema = {"place": pl.Int64, "step": pl.String, "conversions": pl.Int64, "steps": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row").sort("place", "step").drop("place")


def _by_conversion(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per conversion: conversion_id, channels (earliest first), touches, reporting_value, waited."""
    channel = pl.when(pl.col("position") == 0).then(pl.lit(NO_TOUCH)).otherwise("channel")
    steps = rows.select(
        "conversion_id",
        "position",
        "credited_reporting_value",
        channel.fill_null("unknown").alias("way"),
        (pl.col("converted_at") - pl.col("touched_at")).alias("waited"),
    )
    return (
        steps.sort("position")
        .group_by("conversion_id")
        .agg(
            channels=pl.col("way"),
            touches=touches(),
            reporting_value=sum_seen("credited_reporting_value").cast(pl.Float64),
            waited=pl.col("waited").max(),
        )
    )


def _summed(ways: pl.DataFrame, value: float | None, cut: bool) -> Journeys:
    length = pl.col("channels").list.len()
    cut_short = pl.when(length > _LONGEST).then(pl.lit("…" + ARROW)).otherwise(pl.lit(""))
    path = cut_short + pl.col("channels").list.tail(_LONGEST).list.join(ARROW)
    by_path = ways.group_by(path.alias("path")).agg(
        conversions=pl.len().cast(pl.Int64),
        reporting_value=sum_seen("reporting_value"),
        touches=pl.col("touches").min(),
        days=(pl.col("waited").dt.total_seconds() / 86_400).mean(),
        last=pl.col("channels").first().list.tail(_DEEPEST),
    )
    most_first = by_path.sort("conversions", "reporting_value", "path", descending=[True, True, False])
    top = most_first.head(_MOST_PATHS).drop("last")
    count = pl.col("touches")
    mean, single = ways.select(count.mean().alias("mean"), (count <= 1).sum().alias("single")).row(0)
    return Journeys(ways.height, single, value, mean or 0.0, top, _flow(by_path), _times(ways), cut)


def _flow(paths: pl.DataFrame) -> pl.DataFrame:
    """Number of conversions by pair of consecutive channels, counted back from the conversion."""
    back = pl.col("last").list.reverse()
    parts = []
    for step in range(_DEEPEST):
        source = back.list.get(step, null_on_oob=True)
        target = pl.lit(CONVERTED) if step == 0 else back.list.get(step - 1, null_on_oob=True)
        names = {"step": pl.lit(step), "source": source, "target": target}
        pairs = paths.select("conversions", **names).drop_nulls()
        parts.append(pairs.group_by("step", "source", "target").agg(pl.col("conversions").sum()))
    return pl.concat(parts).sort("step", "source", "target")


def _times(ways: pl.DataFrame) -> pl.DataFrame:
    band = pl.when(pl.col("waited").is_null()).then(None)
    for name, longest in BANDS:
        band = band.when(pl.col("waited") <= longest).then(pl.lit(name))
    band = band.otherwise(pl.lit(_LONGER))
    counted = ways.group_by(band.alias("band")).agg(conversions=pl.len().cast(pl.Int64))
    names = pl.DataFrame({"band": [*(name for name, _ in BANDS), _LONGER]})
    joined = names.join(counted, on="band", how="left", maintain_order="left")
    with_zeros = joined.with_columns(pl.col("conversions").fill_null(0))
    return with_zeros.filter((pl.col("band") != _LONGER) | (pl.col("conversions") > 0))
