"""Performance of campaigns, in total and by day."""

from dataclasses import dataclass, replace

import polars as pl
from period import DAYS
from query_scope import Scope
from tables.query import Measure, Query, sum_seen, sums
from tables.table_cache import Ask

MEASURES = {
    "credited_reporting_value": "value credited",
    "conversions": "conversions credited",
    "impressions": "impressions",
    "clicks": "counted clicks",
    "visits": "visits",
    "cost": "cost",
}
NO_CAMPAIGN = "no campaign"

_NAMES = ("campaign_source", "campaign_medium", "campaign_name")


@dataclass(frozen=True)
class Campaigns:
    """Campaign performance by one attribution model. What the viewer's role does not see is null.

    Args:
        total: campaign, source, medium, the measures, click_through, per_visit, roas, cost_per_conversion,
            value_with_cost (of the days whose cost is known); highest value first.
        daily: day, campaign, the measures.
    """

    total: pl.DataFrame
    daily: pl.DataFrame


def campaigns(ask: Ask, scope: Scope, model: str) -> Campaigns:
    """Performance of the campaigns in scope on the days of its period."""
    query = Query("gold.campaign_performance", ("day", *_NAMES), sums(*MEASURES)).only("model", "=", model)
    unknown = ask(replace(scope.of_days(query), measures=(Measure("rows", "count"),)).only("cost", "null"))
    rows = scope.campaign_of(ask(scope.of_days(query))).with_columns(
        pl.col("campaign").fill_null(NO_CAMPAIGN),
        pl.col("credited_reporting_value", "cost").cast(pl.Float64),
    )
    rows = _of_known_cost(rows, unknown)
    daily = rows.group_by("day", "campaign").agg(map(sum_seen, MEASURES))
    return Campaigns(_total(rows), daily.sort("day"))


def campaign_names(ask: Ask) -> list[str]:
    """Names of campaigns and promotions, most visits and clicks first."""
    found = ask(
        Query(
            "gold.campaign_performance",
            ("campaign_name",),
            sums("visits", "clicks"),
            order=("-visits", "-clicks", "campaign_name"),
            limit=500,
        ).only("campaign_name", "not null")
    )
    return found["campaign_name"].to_list()


def channel_names(ask: Ask) -> list[str]:
    """Names of channels, sorted."""
    days = Query("gold.traffic", ("channel",), (Measure("rows", "count"),)).only("window_kind", "=", DAYS)
    return sorted(ask(days.only("channel", "not null"))["channel"])


def _of_known_cost(rows: pl.DataFrame, unknown: pl.DataFrame) -> pl.DataFrame:
    """Add value and conversions of rows whose cost is known: a sum of costs leaves the others out."""
    is_known = pl.col("rows").is_null()
    return rows.join(unknown, on=("day", *_NAMES), how="left", nulls_equal=True).with_columns(
        value_with_cost=pl.when(is_known).then(pl.col("credited_reporting_value")).otherwise(0.0),
        conversions_with_cost=pl.when(is_known).then(pl.col("conversions")).otherwise(0.0),
    )


def _total(rows: pl.DataFrame) -> pl.DataFrame:
    source, medium = (
        pl.col(name).alias(short) for name, short in zip(_NAMES, ("source", "medium"), strict=False)
    )
    summed = rows.group_by("campaign", source, medium).agg(
        map(sum_seen, (*MEASURES, "value_with_cost", "conversions_with_cost"))
    )
    with_cost = pl.col("conversions_with_cost")
    seen, visits, cost = pl.col("impressions"), pl.col("visits"), pl.col("cost")
    return summed.with_columns(
        click_through=pl.when(seen > 0).then(pl.col("clicks") / seen),
        per_visit=pl.when(visits > 0).then(pl.col("credited_reporting_value") / visits),
        roas=pl.when(cost > 0).then(pl.col("value_with_cost") / cost),
        cost_per_conversion=pl.when((cost > 0) & (with_cost > 0)).then(cost / with_cost),
    ).sort(
        "credited_reporting_value", "visits", "impressions", "campaign", descending=[True, True, True, False]
    )
