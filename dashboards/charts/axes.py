"""Axes, labels, legends and titles of charts."""

from datetime import timedelta

import altair as alt
import polars as pl

PLAIN = ",.2~f"  # number format: at most two decimals

_CLOCK = (
    "utcFormat(datum.value, utcseconds(datum.value) ? '%H:%M:%S'"
    " : utchours(datum.value) + utcminutes(datum.value) ? '%H:%M' : '%-d %b')"
)
_DAY = timedelta(days=1)
_TIGHT = 6  # pixels between the plot and its axes, title and legend
_LABEL_WIDTH = 190  # pixels
_TICKS = 5  # numbers on an axis, approximately
_ROOM = 1.5  # axis length relative to the longest bar, if text follows the bars
_DAYS = 8  # day labels on an axis, approximately


def clock() -> alt.Axis:
    """A time axis: shows the time of day, with seconds where ticks are closer, and the date at midnight."""
    return alt.Axis(labelExpr=_CLOCK, grid=False, tickCount=8, titlePadding=_TIGHT)


def counts() -> alt.Axis:
    """An axis of whole numbers."""
    return alt.Axis(format=",d", tickMinStep=1, tickCount=_TICKS, titlePadding=_TIGHT, labelFlush=False)


def amounts(format_: str = PLAIN) -> alt.Axis:
    """An axis of decimal numbers."""
    return alt.Axis(format=format_, tickCount=_TICKS, titlePadding=_TIGHT, labelFlush=False)


def days(count: int) -> alt.Axis:
    """An axis of days. Many days have fewer labels."""
    step: dict[str, object] = {"interval": "day", "step": max(1, count // _DAYS)}
    return alt.Axis(format="%-d %b", grid=False, tickCount=step, titlePadding=_TIGHT)


def labels(column: str) -> alt.Y:
    """Text labels on the y axis, in the order of the rows."""
    return alt.Y(
        f"{column}:N",
        title=None,
        sort=None,
        axis=alt.Axis(labelLimit=_LABEL_WIDTH, labelOverlap=False, labelFlush=False),
    )


def framed(*layers: alt.Chart, heading: str, height: int) -> alt.LayerChart:
    """Layers with a title and a height in pixels. Layered even if single, else the legend has a wide gap."""
    return alt.layer(*layers).properties(title=title(heading), height=height)


def round_numbers(longest: float | None = None) -> alt.Scale:
    """A scale from 0 to a round number, or with room for text after the longest bar."""
    return alt.Scale(domain=[0, longest * _ROOM]) if longest else alt.Scale(nice=_TICKS)


def title(text: str) -> alt.Title:
    """A chart's title."""
    return alt.Title(text, offset=_TIGHT, anchor="start")


def legend(label_limit: int = 220) -> alt.Legend:
    """A legend in one line above the plot."""
    return alt.Legend(
        title=None,
        orient="top",
        symbolType="square",
        offset=_TIGHT,
        padding=0,
        rowPadding=0,
        columnPadding=16,
        labelLimit=label_limit,
    )


def span(step: timedelta, zone: str) -> pl.Expr:
    """The time range of a step as text; a browser would format it in its own time zone.

    Args:
        step: the time step. Steps of a day or more are named by their first day, shorter ones in UTC.
        zone: time zone of the days (IANA).
    """
    if step >= _DAY:
        noon = pl.col("start") + _DAY / 2  # after a DST change, steps start an hour off midnight
        return noon.dt.convert_time_zone(zone).dt.strftime("%-d %b %Y").alias("span")
    return pl.format(
        "{}–{}", pl.col("start").dt.strftime("%-d %b %H:%M"), (pl.col("start") + step).dt.strftime("%H:%M")
    ).alias("span")
