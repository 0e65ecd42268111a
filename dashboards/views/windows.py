"""Page Windows: early, on-time and corrected windows, and the size of corrections."""

from datetime import timedelta
from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import time_charts
from charts.palette import Palette
from metrics.windows import KINDS, LONGEST, MEASURES, Panes, panes
from period import DAYS, HOURS, MINUTES, SLIDING
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.layout import number_column, place_chart, place_table, text_column, time_column

_WORDS = {"early": "early: may still change", "on_time": "on time", "late": "corrected"}
_WIDTHS = {
    MINUTES: timedelta(minutes=1),
    HOURS: timedelta(hours=1),
    DAYS: timedelta(days=1),
    SLIDING: timedelta(minutes=5),
}

_WINDOW = {"window_start": time_column("Window (UTC)"), "channel": text_column("Channel", 80)}
_HISTORY = (
    "Changes are read from the change feed of gold.traffic, which reaches back to {:%-d %b %Y %H:%M} UTC: "
    "as far as the log of the table, and files that have been replaced, are kept."
)
_NO_HISTORY = "What windows were when they were complete can only be read from tables in a folder."


def body(look: Look, scope: Scope) -> None:
    """Show the number of windows by pane, events over time, and all corrections."""
    kind = st.selectbox("Windows of", KINDS, 1, key="window", bind="query-params", width=220)
    longest = LONGEST.get(kind, scope.period.length)
    asked = Scope(scope.period.last(longest), scope.channels)
    found = look.figure(panes, asked, kind)
    if look.sees("gold.traffic.pane"):
        _figures(found)
    rows = _columns(found.windows, "events", pl.col("pane").replace_strict(_WORDS, default="on time"), kind)
    nothing = layout.why_empty(look, f"No windows of {kind} in this period.", "gold.traffic.events")
    windows = partial(place_chart, rows, partial(_draw, kind=kind), nothing)
    if found.since is None:
        windows()
        _revised(found)
        st.caption(_NO_HISTORY)
    else:
        way = pl.when(pl.col("events_change") < 0).then(pl.lit("less")).otherwise(pl.lit("more"))
        brought = _columns(found.corrected, "events_change", way, kind)
        none = "No change of a complete window is in the history that has been read."
        layout.side_by_side(windows, partial(place_chart, brought, _draw_change, none))
        _corrections(found)
        st.caption(_HISTORY.format(found.since))
    if asked.period.length < scope.period.length:
        st.caption(f"Of windows of {kind}, the last {longest / timedelta(hours=1):g} hours of the period.")


def _figures(found: Panes) -> None:
    number, share = layout.locale().number, layout.locale().share
    by = dict(found.windows.group_by("pane").len().iter_rows())
    history = {
        "Late events": (number(found.late), "Events that came into windows that were complete already."),
        "Late-event rate": (share(found.late_rate, 2), "Late events per event that was on time."),
        "Other changes": (number(found.other), "Events taken out again: bots found later, or a rebuild."),
    }
    layout.metrics(
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
            **(history if found.since else {}),
        }
    )


def _columns(windows: pl.DataFrame, measure: str, part: pl.Expr, kind: str) -> pl.DataFrame:
    seen = windows.drop_nulls(measure)
    summed = seen.group_by("window_start", part.alias("part")).agg(pl.col(measure).sum())
    return summed.sort("window_start").select(
        pl.col("window_start").alias("start"),
        (pl.col("window_start") + _WIDTHS[kind] * 0.9).alias("edge"),
        pl.col(measure).alias("count"),
        "part",
        pl.col("window_start").dt.strftime("%-d %b %Y %H:%M").alias("when"),
    )


def _draw(rows: pl.DataFrame, palette: Palette, kind: str) -> object:
    colours = {_WORDS["on_time"]: palette.events, _WORDS["late"]: palette.conversions}
    colours[_WORDS["early"]] = palette.quiet
    return time_charts.columns_over_time(rows, f"Events by window of {kind}", "events", colours)


def _draw_change(rows: pl.DataFrame, palette: Palette) -> object:
    colours = {"more": palette.more, "less": palette.less}
    return time_charts.columns_over_time(
        rows, "Changes since windows were complete", "events, more or less", colours
    )


def _corrections(found: Panes) -> None:
    columns = dict(_WINDOW)
    for name in MEASURES:
        label, digits = _measure(name)
        columns[f"{name}_then"] = number_column(label, digits, f"{label}, when the window was complete", 90)
        columns[f"{name}_change"] = number_column("±", digits, f"{label}: what has changed since", 50)
    rows = found.corrected.with_columns(pl.col("channel").fill_null("all"))
    place_table(
        rows,
        columns,
        "corrections",
        heading="Corrections: figures of a complete window, and their change since",
    )


def _revised(found: Panes) -> None:
    columns = {**_WINDOW, "revision": number_column("Revision")}
    columns["late_events"] = number_column("Left out", meaning="late events that the window does not count")
    columns |= {name: number_column(*_measure(name)) for name in MEASURES}
    rows = found.revised.with_columns(pl.col("channel").fill_null("all"))
    place_table(rows, columns, "revised", heading="Complete windows that got late events")


def _measure(name: str) -> tuple[str, int]:
    """Label and digits of a measure."""
    if name == "reporting_value":
        return data_source.CURRENCY, 2
    return name.replace("_", " ").capitalize(), 0


page.show(body)
