"""Custom dimensions: visits, conversions, credited value and the funnel by value."""

import polars as pl
from query_scope import Scope
from tables.query import Query, sum_seen, sums
from tables.table_cache import Ask

from metrics.audience import STEPS

_TABLE = "gold.dimension_performance"
_FUNNEL = "gold.funnel_by_dimension"
_MODEL = "last_non_direct"
NOT_SET = "(not set)"
"""How pages write that there is no value."""


def dimension_names(ask: Ask, scope: Scope) -> list[str]:
    """Names of the custom dimensions with rows on the days of the period, in order of text."""
    asked = scope.of_days(Query(_TABLE, ("dimension",), sums("visits"), order=("dimension",)))
    return ask(asked)["dimension"].to_list()


def by_value(ask: Ask, scope: Scope, dimension: str) -> pl.DataFrame:
    """Values of a custom dimension on the days of the period, in the chosen channels.

    Args:
        ask: runs queries.
        scope: the period and channels. Campaigns are ignored.
        dimension: its name.

    Returns:
        value, visits, conversions, rate (conversions / visits), credited (in the reporting currency), by the
        model of the last touch that is not direct; most visits, then most conversions first.
    """
    measures = sums("visits", "conversions", "credited_reporting_value")
    asked = scope.of_days(Query(_TABLE, ("value",), measures)).one_of("channel", scope.channels)
    found = ask(asked.only("dimension", "=", dimension).only("model", "=", _MODEL))
    visits = pl.col("visits")
    return found.select(
        pl.col("value").fill_null(NOT_SET),
        visits,
        "conversions",
        pl.when(visits > 0).then(pl.col("conversions") / visits).alias("rate"),
        pl.col("credited_reporting_value").alias("credited"),
    ).sort("visits", "conversions", "value", descending=[True, True, False])


def main_measure(values: pl.DataFrame) -> str:
    """`visits`, or `conversions` for a dimension that no visit has: a column of the shop's customers."""
    visits, conversions = (
        values.filter(pl.col("value") != NOT_SET)[each].sum() for each in ("visits", "conversions")
    )
    return "conversions" if conversions and not visits else "visits"


def funnel_dimensions(ask: Ask, scope: Scope) -> list[str]:
    """Names of the custom dimensions that split the funnel on the days of the period, in order of text."""
    asked = scope.of_days(Query(_FUNNEL, ("dimension",), sums("visitors"), order=("dimension",)))
    return ask(asked)["dimension"].to_list()


def funnel_by_value(ask: Ask, scope: Scope, dimension: str) -> pl.DataFrame:
    """The funnel of each value of a custom dimension on the days of the period, in all channels.

    Args:
        ask: runs queries.
        scope: the period. Channels and campaigns are ignored.
        dimension: its name.

    Returns:
        value, a column for each step (sum of daily visitors), rate (last step / first step); most visitors
        first.
    """
    asked = scope.of_days(Query(_FUNNEL, ("value", "step"), sums("visitors")))
    found = ask(asked.only("dimension", "=", dimension)).with_columns(pl.col("value").fill_null(NOT_SET))
    counted = (sum_seen(pl.col("visitors").filter(pl.col("step") == step)).alias(step) for step in STEPS)
    first, last = pl.col(STEPS[0]), pl.col(STEPS[-1])
    by_value = found.group_by("value").agg(*counted)
    rate = pl.when(first > 0).then(last / first).alias("rate")
    return by_value.with_columns(rate).sort(STEPS[0], "value", descending=[True, False])
