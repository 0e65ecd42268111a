"""Page Campaigns: impressions, clicks, visits and credit, in total and by day."""

from dataclasses import replace
from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import bar_charts, time_charts
from metrics import attribution
from metrics.campaigns import MEASURES, campaigns
from metrics.promotions import promotions
from query_scope import MODEL_NAMES, Scope
from tables.query import sum_seen
from tables.table_cache import Look
from widgets import layout, page
from widgets.layout import number_column, place_chart, place_table, share_column, text_column
from widgets.model_choice import choose_model

_TABLE = "gold.campaign_performance"
_NO_PROMOTIONS = (
    "No promotion was seen or clicked on these days.\n"
    "Missing: Promotion Viewed and Promotion Clicked with a promotion_id."
)
_LINES = 5
_BARS = 9
_CLICKED_AS = (
    "on-site: a promotion of the site itself, which earns no credit unless conf/rules.yml says so. "
    "campaign: clicks with a campaign of their own, or on another host."
)


def body(look: Look, scope: Scope) -> None:
    """Show totals, top campaigns, their trend by day, promotions, and credit by any campaign field."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        model = choose_model("Model", "model", "linear")
        measure = st.selectbox(
            "Trend of",
            list(MEASURES),
            key="trend",
            bind="query-params",
            format_func=MEASURES.__getitem__,
            width=220,
        )
        by = st.selectbox("Credit by", list(attribution.BY), 3, key="by", bind="query-params", width=190)
    found = look.figure(campaigns, scope, model)
    total = layout.shown_labels(found.total, "campaign")
    first, last = scope.period.days
    st.caption(
        f"Counted by whole days, {first:%-d %b %Y} to {last:%-d %b %Y}, in the time zone {scope.period.zone}."
    )
    if look.sees(_TABLE):
        _figures(total)
    nothing = "No campaigns on the days of this period."
    leaders = total.group_by("campaign", maintain_order=True).agg(map(sum_seen, MEASURES))
    leaders = leaders.sort("credited_reporting_value", descending=True, maintain_order=True)
    earned = partial(
        bar_charts.bars,
        label="campaign",
        measure="credited_reporting_value",
        heading=f"Value credited: {MODEL_NAMES[model]}",
        unit=data_source.CURRENCY,
    )
    names = leaders["campaign"].head(_LINES).to_list()
    daily = layout.shown_labels(found.daily, "campaign").filter(pl.col("campaign").is_in(names))
    unit = data_source.CURRENCY if measure in ("credited_reporting_value", "cost") else MEASURES[measure]
    trend = partial(
        time_charts.lines,
        x="day",
        y=measure,
        series="campaign",
        names=names,
        heading=f"By day: {MEASURES[measure]}",
        unit=unit,
    )
    layout.side_by_side(
        partial(
            place_chart,
            leaders.head(_BARS).drop_nulls("credited_reporting_value"),
            earned,
            layout.why_empty(look, nothing, f"{_TABLE}.credited_reporting_value"),
        ),
        partial(
            place_chart,
            daily.drop_nulls(measure),
            trend,
            layout.why_empty(look, nothing, f"{_TABLE}.{measure}"),
        ),
        widths=(2, 3),
    )
    _table(total)
    _promotions(look, scope)
    _credit(look, scope, model, by)


def _figures(total: pl.DataFrame) -> None:
    number, share = layout.locale().number, layout.locale().share
    seen, clicks, cost = pl.col("impressions"), pl.col("clicks"), pl.col("cost")
    summed = total.select(
        *map(sum_seen, MEASURES), of_paid=sum_seen(pl.col("value_with_cost").filter(cost > 0))
    ).with_columns(
        click_through=pl.when(seen > 0).then(clicks / seen),
        roas=pl.when(cost > 0).then(pl.col("of_paid") / cost),
    )
    figures = summed.row(0, named=True)
    layout.metrics(
        {
            "Impressions": (number(figures["impressions"]), "Promotions viewed."),
            "Counted clicks": (number(figures["clicks"]), "Repeats within ten seconds left out."),
            "Click-through rate": (share(figures["click_through"]), "Counted clicks per impression."),
            "Visits": (number(figures["visits"]), "Sessions started, those without a campaign too."),
        }
    )
    layout.metrics(
        {
            f"Value credited ({data_source.CURRENCY})": (
                number(figures["credited_reporting_value"], 2),
                "By the model chosen, refunds taken off. Conversions without a touch are credited to nobody.",
            ),
            f"Cost ({data_source.CURRENCY})": (
                number(figures["cost"], 2),
                "By cost files, at the rate of each day; days without a rate are left out.",
            ),
            "ROAS": (
                number(figures["roas"], 2),
                "Return on ad spend: value credited per unit of cost. Days without a rate are left out.",
            ),
        }
    )


def _table(total: pl.DataFrame) -> None:
    columns = {
        "campaign": text_column("Campaign or promotion", 190),
        "source": "Source",
        "medium": "Medium",
        "impressions": number_column("Impressions"),
        "clicks": number_column("Clicks"),
        "click_through": share_column("CTR", "Counted clicks per impression"),
        "visits": number_column("Visits"),
        "conversions": number_column("Conversions", 1, "Credit: one conversion can be shared"),
        "credited_reporting_value": number_column(f"Value ({data_source.CURRENCY})", 2),
        "per_visit": number_column(f"{data_source.CURRENCY} per visit", 2),
        "cost": number_column(f"Cost ({data_source.CURRENCY})", 2),
        "roas": number_column("ROAS", 2, "Value credited per unit of cost"),
        "cost_per_conversion": number_column("Cost per conversion", 2),
    }
    place_table(total, columns, "campaigns", heading="All campaigns", height=bar_charts.TALL)


def _promotions(look: Look, scope: Scope) -> None:
    """Show promotions with impressions, clicks and orders. On-site promotions are marked."""
    rows = look.figure(promotions, scope)
    if rows.is_empty():
        nothing = layout.why_empty(look, _NO_PROMOTIONS, "gold.promotion_performance")
        layout.say_nothing(nothing, layout.TABLE_HEIGHT)
        return
    columns = {
        "promotion": text_column("Promotion", 150),
        "clicked_as": text_column("Clicked as", 150, _CLICKED_AS),
        "impressions": number_column("Impressions"),
        "clicks": number_column("Clicks", meaning="Repeats within ten seconds left out"),
        "on_site": number_column("Of these, on-site", meaning="On a promotion of the site itself"),
        "click_through": share_column("CTR", "Counted clicks per impression"),
        "clicking_visitors": number_column("Visitors who clicked", meaning="Of each day, summed"),
        "converting_visitors": number_column("Of these, ordered", meaning="Within 24 hours after a click"),
        "converting": share_column("Share who ordered", "Of the visitors who clicked"),
    }
    place_table(rows, columns, "promotions", heading="Promotions", height=layout.fitting(rows))


def _credit(look: Look, scope: Scope, model: str, by: str) -> None:
    """Show credit by a campaign field, for one model, on the same days."""
    days = replace(scope, period=scope.period.whole_days)
    credits_ = look.figure(attribution.credited, days, attribution.BY[by]).filter(pl.col("model") == model)
    dimension = attribution.BY[by]
    columns = {
        dimension: text_column(by, 300),
        "conversions": number_column("Conversions", 1, "Credit: one conversion can be shared"),
        "reporting_value": number_column(f"Value ({data_source.CURRENCY})", 2),
    }
    shown = layout.shown_labels(credits_.drop("model"), "label").rename({"label": dimension})
    place_table(shown, columns, "credit-by", heading=f"Credit by {by.lower()}: {MODEL_NAMES[model]}")


page.show(body)
