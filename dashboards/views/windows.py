"""Windows: what was early, on time, corrected since, and by how much."""

from datetime import timedelta
from functools import partial

import charts
import page
import placing
import polars as pl
import sources
import streamlit as st
from figures.windows import KINDS, LONGEST, MEASURES, Panes, panes
from palette import Palette
from period import DAYS, HOURS, MINUTES, SLIDING
from placing import change_column, number_column, place_chart, place_table, time_column
from reading.lake import Look
from scope import Scope

_WORDS = {"early": "early: may still change", "on_time": "on time", "late": "corrected"}
_WIDTHS = {
    MINUTES: timedelta(minutes=1),
    HOURS: timedelta(hours=1),
    DAYS: timedelta(days=1),
    SLIDING: timedelta(minutes=5),
}


def body(look: Look, scope: Scope) -> None:
    """How many windows of each pane, over time; each correction."""
    kind = st.selectbox("Windows of", KINDS, 1, key="window", bind="query-params", width=220)
    longest = LONGEST.get(kind, scope.period.length)
    asked = Scope(scope.period.last(longest), scope.channels)
    found = look.figure(panes, asked, kind)
    _figures(found)
    rows = _columns(found.windows, kind)
    draw = partial(_draw, kind=kind)
    place_chart(rows, draw, f"No windows of {kind} in this period.", charts.HEIGHT)
    _corrections(found)
    if asked.period.length < scope.period.length:
        st.caption(f"Of windows of {kind}, the last {longest / timedelta(hours=1):g} hours of the period.")


def _figures(found: Panes) -> None:
    number, share = placing.locale().number, placing.locale().share
    by = dict(found.windows.group_by("pane").len().iter_rows())
    part = found.added / found.on_time if found.on_time else None
    placing.metrics(
        {
            "Early": (
                number(by.get("early", 0)),
                "The watermark has not passed their end: they may still change.",
            ),
            "On time": (number(by.get("on_time", 0)), "Complete, and not changed since."),
            "Corrected": (
                number(by.get("late", 0)),
                "Late events have changed them after they were complete.",
            ),
            "Events brought late": (number(found.added), "In windows that were complete already."),
            "Of what was on time": (share(part, 2), "Events brought late, per event counted on time."),
        }
    )


def _columns(windows: pl.DataFrame, kind: str) -> pl.DataFrame:
    summed = windows.group_by("window_start", "pane").agg(pl.col("events").sum()).sort("window_start")
    width = _WIDTHS[kind]
    return summed.select(
        pl.col("window_start").alias("start"),
        (pl.col("window_start") + width * 0.9).alias("edge"),
        pl.col("events").alias("count"),
        pl.col("pane").replace_strict(_WORDS, default="on time").alias("part"),
        pl.col("window_start").dt.strftime("%-d %b %Y %H:%M").alias("when"),
    )


def _draw(rows: pl.DataFrame, palette: Palette, kind: str) -> object:
    colours = {_WORDS["on_time"]: palette.events, _WORDS["late"]: palette.conversions}
    colours[_WORDS["early"]] = palette.quiet
    return charts.columns_over_time(rows, f"Events by window of {kind}", "events", colours)


def _corrections(found: Panes) -> None:
    columns = {"window_start": time_column("Window (UTC)"), "channel": "Channel"}
    for name in MEASURES:
        digits = 2 if name == "reporting_value" else 0
        label = sources.CURRENCY if name == "reporting_value" else name.replace("_", " ").capitalize()
        columns[f"{name}_then"] = number_column(f"{label} on time", digits)
        columns[f"{name}_change"] = change_column("± since", digits, f"{label}: what late events changed")
    rows = found.corrected.with_columns(pl.col("channel").fill_null("all"))
    place_table(
        rows, columns, "corrections", heading="Corrections: what was said on time, and what has changed since"
    )


page.show(body)
