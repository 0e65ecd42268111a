"""Page Journeys: paths to conversions, and time to convert."""

from datetime import timedelta
from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import bar_charts, sankey_chart
from metrics.journeys import Journeys, journeys, trail_steps
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.formatting import lasting
from widgets.layout import number_column, place_chart, place_table, text_column

from folds.rule_numbers import load_rule_numbers
from lakehouse.bundle_file import conf_folder

_TABLE = "gold.attribution"


def body(look: Look, scope: Scope) -> None:
    """Show the flow to conversions, time to convert, top paths, and steps of trails."""
    found = look.figure(journeys, scope, look.unseen(_TABLE))
    if look.sees(_TABLE):
        _figures(found)
    nothing = layout.why_empty(look, "No conversions in this period.", _TABLE)
    waits = partial(
        bar_charts.bars,
        label="band",
        measure="conversions",
        heading="From the first touch to the conversion",
        unit="conversions",
        height=bar_charts.TALL,
    )
    times = found.times if found.conversions else found.times.clear()
    layout.side_by_side(
        partial(place_chart, found.flow, sankey_chart.flow, nothing, bar_charts.TALL),
        partial(place_chart, times, waits, nothing, bar_charts.TALL),
        widths=(3, 2),
    )
    _paths(found)
    if found.cut:
        st.caption("More touches than are read at once: choose a shorter period to have all of them.")
    _steps(look, scope)


def _figures(found: Journeys) -> None:
    look_back = load_rule_numbers(conf_folder()).look_back / timedelta(days=1)
    number, share = layout.locale().number, layout.locale().share
    layout.metrics(
        {
            "Conversions": (number(found.conversions), "Without refunds and cancellations."),
            "Touches per conversion": (
                number(found.touches, 1),
                f"Touches in the {look_back:g} days before, on average.",
            ),
            "Single-touch conversions": (
                share(found.single / found.conversions if found.conversions else None),
                "With one touch at most: every model gives these to the same touch.",
            ),
            f"Value ({data_source.CURRENCY})": (
                number(found.reporting_value, 2),
                "Worth of the conversions, refunds and cancellations taken off.",
            ),
        }
    )


def _paths(found: Journeys) -> None:
    columns = {
        "path": text_column("Path of channels, earliest first", 520),
        "conversions": number_column("Conversions"),
        "reporting_value": number_column(f"Value ({data_source.CURRENCY})", 2),
        "touches": number_column("Touches"),
        "time": text_column("Time to convert", 120, "From the first touch, on average"),
    }
    times = [None if days is None else lasting(timedelta(days=days)) for days in found.paths["days"]]
    paths = found.paths.with_columns(pl.Series("time", times, pl.String))
    place_table(paths, columns, "paths", heading="Top paths")


def _steps(look: Look, scope: Scope) -> None:
    """Show trail steps of all conversions of the period. Trails are not filtered by channel."""
    steps = look.figure(trail_steps, scope)
    columns = {
        "step": text_column("Step of a trail", 380),
        "conversions": number_column("Conversions", meaning="Those that have such a step, of any channel"),
        "steps": number_column("Steps"),
    }
    place_table(steps, columns, "steps", heading="What trails are made of", height=layout.fitting(steps))


page.show(body)
