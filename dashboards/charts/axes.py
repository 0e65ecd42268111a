"""The frame of a chart: axes, labels, legends, titles."""

from datetime import timedelta

import altair as alt
import polars as pl

PLAIN = ",.2~f"  # numbers as they are, with two decimals at most

_CLOCK = "utcFormat(datum.value, utchours(datum.value) + utcminutes(datum.value) ? '%H:%M' : '%-d %b')"
_TIGHT = 6  # pixels between the parts around a plot, which are wide apart otherwise
_LABEL_WIDTH = 190  # pixels
_TICKS = 5  # numbers on an axis, about
_ROOM = 1.5  # of the longest bar's length, where words stand at its end
_DAYS = 8  # labels of days that stand side by side


def clock() -> alt.Axis:
    """An axis of instants: hours within a day, days otherwise."""
    return alt.Axis(labelExpr=_CLOCK, grid=False, tickCount=8, titlePadding=_TIGHT)


def counts() -> alt.Axis:
    """An axis of whole numbers."""
    return alt.Axis(format=",d", tickMinStep=1, tickCount=_TICKS, titlePadding=_TIGHT, labelFlush=False)


def amounts(format_: str = PLAIN) -> alt.Axis:
    """An axis of any numbers."""
    return alt.Axis(format=format_, tickCount=_TICKS, titlePadding=_TIGHT, labelFlush=False)


def days(count: int) -> alt.Axis:
    """An axis of so many days."""
    step: dict[str, object] = {"interval": "day", "step": max(1, count // _DAYS)}
    return alt.Axis(format="%-d %b", grid=False, tickCount=step, titlePadding=_TIGHT)


def labels(column: str) -> alt.Y:
    """Labels down the side, in the order of the rows."""
    return alt.Y(
        f"{column}:N",
        title=None,
        sort=None,
        axis=alt.Axis(labelLimit=_LABEL_WIDTH, labelOverlap=False, labelFlush=False),
    )


def framed(*layers: alt.Chart, heading: str, height: int) -> alt.LayerChart:
    """Layers with a title, of a height in pixels; layered even if it is one, else its legend stands apart."""
    return alt.layer(*layers).properties(title=title(heading), height=height)


def round_numbers(longest: float | None = None) -> alt.Scale:
    """A scale that ends where its axis has a number; or where there is room for words at the longest bar."""
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


def span(step: timedelta) -> pl.Expr:
    """When a step is, in words: a browser would tell it in its own time zone."""
    if step >= timedelta(days=1):
        return pl.col("start").dt.strftime("%-d %b %Y").alias("span")
    return pl.format(
        "{}–{}", pl.col("start").dt.strftime("%-d %b %H:%M"), (pl.col("start") + step).dt.strftime("%H:%M")
    ).alias("span")
