"""Attribution: credit of channels, campaigns and conversions, by model."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query, sum_seen
from tables.table_cache import Ask

BY = {
    "Channel": "channel",
    "Source": "campaign_source",
    "Medium": "campaign_medium",
    "Campaign": "campaign",
    "Term": "campaign_term",
    "Content": "campaign_content",
    "Campaign id": "campaign_id",
    "Click id kind": "click_id_kind",
}
"""Dimensions of credit: label and column. `campaign` is the campaign's name, else the promotion."""

MEASURES = {"conversions": "credit", "reporting_value": "credited_reporting_value"}
"""Measures of credit: name, and the column of gold.attribution that is summed."""

_WORDS = {column: name.lower() for name, column in BY.items()}
_MOST = 50  # conversions listed
_ROWS = 2000  # rows of gold.attribution that are read for them
_BACK = (timedelta(days=1), timedelta(days=8), timedelta(days=64), timedelta.max)  # searched in this order


def credited(ask: Ask, scope: Scope, by: str) -> pl.DataFrame:
    """The credit of each channel, campaign or other dimension in `BY`, by model.

    Args:
        ask: runs queries.
        scope: period of the conversions, and channels and campaigns of the touches.
        by: a value of `BY`.

    Returns:
        label, model, conversions (sum of credit, without refunds and cancellations), reporting_value (with
        refunds and cancellations); the label with the highest value first. A measure is null if the viewer's
        role does not see it.
    """
    names = ("campaign_name", "promotion_id") if by == "campaign" or scope.campaigns else ()
    own = () if by in ("channel", "campaign") else (by,)
    columns = ("model", "channel", "is_counted", *names, *own)
    measures = tuple(Measure(name, "sum", column) for name, column in MEASURES.items())
    query = Query("gold.attribution", columns, measures).one_of("channel", scope.channels)
    rows = ask(scope.within(query, "converted_at"))
    rows = scope.campaign_of(rows) if names else rows
    label = label_of(by).fill_null("unknown").alias("label")
    value = sum_seen("reporting_value").cast(pl.Float64)
    counted = sum_seen(pl.col("conversions").filter(is_counted()))
    summed = rows.group_by(label, "model").agg(counted, value)
    most, most_credit = (pl.col(name).max().over("label") for name in ("reporting_value", "conversions"))
    return summed.sort(most, most_credit, "label", "model", descending=[True, True, False, False])


def is_counted() -> pl.Expr:
    """Whether a credit belongs to a conversion, not to a refund or cancellation. True for null (old rows)."""
    return pl.col("is_counted").fill_null(value=True)


def touches() -> pl.Expr:
    """The number of touches. A conversion without one has a single row of gold.attribution, at position 0."""
    return (pl.col("position") > 0).sum().cast(pl.Int64)


def label_of(by: str) -> pl.Expr:
    """The label of a credit: the dimension's value, or `no <dimension> · <channel>` if it is null."""
    if by == "channel":
        return pl.col("channel")
    return pl.coalesce(by, pl.format(f"no {_WORDS[by]} · {{}}", "channel"))


def changes(credits_: pl.DataFrame, model: str, other: str, measure: str) -> pl.DataFrame:
    """The difference of each label between two models: label, change; in the order of the labels."""
    order = credits_.select(pl.col("label").unique(maintain_order=True))
    parts = (credits_.filter(pl.col("model") == name).select("label", measure) for name in (model, other))
    ours, theirs = (order.join(part, on="label", how="left", maintain_order="left") for part in parts)
    change = theirs[measure].fill_null(0) - ours[measure].fill_null(0)
    return order.with_columns(change=change)


def conversions_behind(ask: Ask, scope: Scope, model: str) -> pl.DataFrame:
    """The latest conversions with credit in scope, by one model.

    Returns:
        conversion_id, converted_at, touches, earner (the label with the largest credit), credit and
        reporting_value (of the touches in scope; null if the conversion has no value); newest first.
    """
    found = pl.DataFrame()
    for length in _BACK:
        part = replace(scope, period=scope.period.last(length))
        found = _behind(ask, part, model)
        if found.height >= _MOST or part.period == scope.period:
            break
    return found.head(_MOST)


def model_periods(ask: Ask) -> list[tuple[datetime, datetime]]:
    """The periods of the data-driven models, latest first."""
    ends = ("period_start", "period_end")
    found = ask(Query("gold.channel_credit", ends, (Measure("rows", "count"),), order=("-period_end",)))
    return [(start, end) for start, end, _ in found.sort("period_end", "period_start").reverse().iter_rows()]


def channel_credit(ask: Ask, start: datetime, end: datetime) -> pl.DataFrame:
    """Credit of channels in a period by data-driven models: label, model, …, model_version."""
    columns = ("channel", "model", "conversions", "reporting_value", "model_version")
    query = Query("gold.channel_credit", columns).only("period_start", "=", start)
    found = ask(query.only("period_end", "=", end)).rename({"channel": "label"})
    found = found.with_columns(pl.col("reporting_value").cast(pl.Float64))
    most = pl.col("conversions").max().over("label")
    return found.sort(most, "label", "model", descending=[True, False, False])


def _behind(ask: Ask, scope: Scope, model: str) -> pl.DataFrame:
    columns = ("conversion_id", "converted_at", "channel", "campaign_name", "promotion_id", "position")
    query = Query(
        "gold.attribution",
        (*columns, "credit", "credited_reporting_value"),
        order=("-converted_at", "conversion_id"),
        limit=_ROWS,
    )
    query = query.only("model", "=", model).one_of("channel", scope.channels)
    rows = scope.campaign_of(ask(scope.within(query, "converted_at")))
    earner = label_of("campaign").fill_null("unknown").sort_by("credit", descending=True).first()
    return (
        rows.group_by("conversion_id", "converted_at")
        .agg(
            touches=touches(),
            earner=earner,
            credit=_known_sum("credit"),
            reporting_value=_known_sum("credited_reporting_value").cast(pl.Float64),
        )
        .sort("converted_at", "conversion_id", descending=[True, False])
    )


def _known_sum(column: str) -> pl.Expr:
    """The sum of the known values; null if none is known."""
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum())
