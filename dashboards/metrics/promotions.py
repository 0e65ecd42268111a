"""Performance of promotions: impressions, clicks, orders."""

from dataclasses import replace

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query, sums
from tables.table_cache import Ask

ON_SITE = "On-site"
"""The channel of clicks on promotions of the site itself."""

_COUNTS = ("impressions", "clicks", "clicking_visitors", "converting_visitors")


def promotions(ask: Ask, scope: Scope) -> pl.DataFrame:
    """Promotions on the days of the period, filtered by the chosen campaigns.

    Returns:
        promotion, clicked_as (`on-site`, `campaign`, `on-site and campaign`; null without clicks),
        impressions, clicks, on_site (of the clicks), click_through, clicking_visitors,
        converting_visitors (sums of daily visitors), converting (share of the clicking visitors); most
        impressions first.
    """
    query = Query("gold.promotion_performance", ("promotion_id",), sums(*_COUNTS))
    rows = ask(scope.of_days(query.one_of("promotion_id", scope.campaigns)))
    seen, clicking = pl.col("impressions"), pl.col("clicking_visitors")
    return (
        rows.join(_clicked_as(ask, scope), on="promotion_id", how="left")
        .select(
            pl.col("promotion_id").alias("promotion"),
            "clicked_as",
            "on_site",
            *_COUNTS,
            click_through=pl.when(seen > 0).then(pl.col("clicks") / seen),
            converting=pl.when(clicking > 0).then(pl.col("converting_visitors") / clicking),
        )
        .sort("impressions", "clicks", "promotion", descending=[True, True, False])
    )


def _clicked_as(ask: Ask, scope: Scope) -> pl.DataFrame:
    """One row per promotion: promotion_id, clicked_as, on_site; from the channels of its counted clicks."""
    days = replace(scope, period=scope.period.whole_days)
    query = Query("gold.touches", ("promotion_id", "channel"), (Measure("clicks", "count"),))
    found = ask(days.within(query.only("kind", "=", "click"), "touched_at"))
    on_site = pl.col("channel").eq_missing(pl.lit(ON_SITE))
    word = (
        pl.when(on_site.all())
        .then(pl.lit("on-site"))
        .when(on_site.any())
        .then(pl.lit("on-site and campaign"))
        .otherwise(pl.lit("campaign"))
    )
    return found.group_by("promotion_id").agg(clicked_as=word, on_site=pl.col("clicks").filter(on_site).sum())
