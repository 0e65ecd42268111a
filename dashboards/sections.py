"""The parts of the page below its header, from top to bottom."""

from functools import partial

import charts
import figures
import polars as pl
import streamlit as st
from period import Period
from placing import Columns, number_column, place_chart, place_table, text_column, time_column
from warehouse import Warehouse

_MOST_GROUPS = 8  # of bars that can be read at a glance


def kpis(lake: Warehouse, period: Period, currency: str) -> None:
    """The figures of the period in one row."""
    totals = lake.answer(figures.totals, ["gold.traffic", "silver.sessions", "gold.conversions"], period)
    unvalued = f" {totals.without_rate:,} conversions have no exchange rate and are left out."
    shown = {
        "Events": (f"{totals.events:,}", "Events accepted, copies left out."),
        "Visitors": (f"{totals.visitors:,}", "Different visitors with a page, screen or track event."),
        "Sessions": (f"{totals.sessions:,}", "Sessions started; 30 minutes of quiet end one."),
        "Conversions": (f"{totals.conversions:,}", "Goals reached; an order counts once."),
        f"Value ({currency})": (
            f"{totals.reporting_value:,.2f}",
            f"Worth of the conversions, refunds taken off.{unvalued if totals.without_rate else ''}",
        ),
    }
    for column, (label, (value, meaning)) in zip(st.columns(len(shown)), shown.items(), strict=True):
        column.metric(label, value, help=meaning, border=True)


def traffic(lake: Warehouse, period: Period) -> None:
    """Events and conversions over time."""
    series = lake.answer(figures.series, ["gold.traffic"], period, period.step)
    for column, measure in zip(st.columns(2), ("events", "conversions"), strict=True):
        with column:
            place_chart(
                series if series[measure].sum() else series.clear(),
                partial(charts.over_time, measure=measure, step=period.step),
                f"No {measure} in this period.",
            )


def attribution(lake: Warehouse, period: Period, currency: str) -> None:
    """Which campaign or channel earned what, by each model."""
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.subheader("Attribution", anchor=False, width="content")
        grouping: str = st.segmented_control(
            "Credit goes to",
            ["Campaign", "Channel"],
            default="Campaign",
            required=True,
            key="by",
            bind="query-params",
            label_visibility="collapsed",
        )
    credited = lake.answer(figures.credited, ["gold.attribution"], period, grouping.lower())
    left, right = st.columns([4, 5])
    with left:
        _credit_chart(credited, currency)
    with right:
        _credit_table(credited, grouping, currency)


def sessions(lake: Warehouse, period: Period) -> None:
    """Where sessions came from, and the latest of them."""
    st.subheader("Sessions", anchor=False)
    left, right = st.columns([1, 2])
    with left:
        channels = lake.answer(figures.sessions_by_channel, ["silver.sessions"], period)
        place_chart(channels, charts.by_channel, "No sessions in this period.")
    with right:
        columns: Columns = {
            "started_at": time_column("Started (UTC)"),
            "visitor_id": "Visitor",
            "channel": "Channel",
            "campaign_name": text_column("Campaign", 110),
            "entry_url": text_column("Entry page", 190),
            "events": "Events",
            "minutes": number_column("Minutes", 1),
            "state": "State",
        }
        place_table(lake.answer(figures.latest_sessions, ["silver.sessions"], period), columns)


def conversions(lake: Warehouse, period: Period, currency: str) -> None:
    """The latest conversions."""
    st.subheader("Latest conversions", anchor=False)
    columns: Columns = {
        "converted_at": time_column("Converted (UTC)"),
        "goal": "Goal",
        "order_id": "Order",
        "person_id": "Person",
        "value": number_column("Value", 2),
        "currency": "Currency",
        "reporting_value": number_column(f"Value ({currency})", 2),
        "touches": "Touches",
        "state": "State",
    }
    place_table(lake.answer(figures.latest_conversions, ["gold.conversions"], period), columns)


def _credit_chart(credited: pl.DataFrame, currency: str) -> None:
    """The leaders; by value, or where no conversion has one, by number."""
    leaders = credited["label"].unique(maintain_order=True).head(_MOST_GROUPS).to_list()
    worth = (credited["reporting_value"] != 0).any()
    measure, unit = ("reporting_value", currency) if worth else ("conversions", "conversions")
    place_chart(
        credited.filter(pl.col("label").is_in(leaders)),
        partial(charts.credit, measure=measure, unit=unit),
        "No conversions to credit in this period.",
    )


def _credit_table(credited: pl.DataFrame, grouping: str, currency: str) -> None:
    """All of them, a row each, the models side by side."""
    measures = ["reporting_value", "conversions"]
    wide = credited.pivot("model", index="label", values=measures, aggregate_function="sum")
    columns = {"label": text_column(grouping, 185)}
    for model in figures.MODELS:
        meaning = f"Value of the conversions that the {model} model credits to it."
        columns[f"reporting_value_{model}"] = number_column(f"{model}, {currency}", 2, meaning)
    for model in figures.MODELS:
        meaning = f"Conversions that the {model} model credits to it; one can be shared."
        columns[f"conversions_{model}"] = number_column(f"{model}, conv.", 1, meaning)
    place_table(wide, columns, height=charts.TALL)
