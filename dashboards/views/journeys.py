"""Page Journeys: paths to conversions, and time to convert."""

from functools import partial

import data_source
import streamlit as st
from charts import bar_charts, sankey_chart
from metrics.journeys import journeys, trail_steps
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.layout import number_column, place_chart, place_table, text_column


def body(look: Look, scope: Scope) -> None:
    """Show the flow to conversions, time to convert, top paths, and steps of trails."""
    found = look.figure(journeys, scope)
    number, share = layout.locale().number, layout.locale().share
    layout.metrics(
        {
            "Conversions": (number(found.conversions), "Without refunds and cancellations."),
            "Touches each": (number(found.touches, 1), "Touches in the 30 days before, on average."),
            "With one touch at most": (
                share(found.single / found.conversions if found.conversions else None),
                "Every model gives these to the same touch.",
            ),
            f"Value ({data_source.CURRENCY})": (number(found.reporting_value, 2), "Of these conversions."),
        }
    )
    nothing = "No conversions in this period."
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
    columns = {
        "path": text_column("Path of channels, earliest first", 520),
        "conversions": number_column("Conversions"),
        "reporting_value": number_column(data_source.CURRENCY, 2),
        "touches": number_column("Touches"),
        "days": number_column("Days to convert", 1, "From the first touch, on average"),
    }
    place_table(found.paths, columns, "paths", heading="Top paths")
    if found.cut:
        st.caption("More touches than are read at once: choose a shorter period to have all of them.")
    _steps(look, scope)


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
