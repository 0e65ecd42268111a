"""The page's charts. What varies is in their data, so that a refresh redraws marks and not the page."""

from datetime import timedelta

import altair as alt
import polars as pl
from figures import COMPLETE, EARLY, MODELS
from palette import Palette
from period import step_words

HEIGHT = 300  # pixels; the same whatever is shown, so that nothing jumps
TALL = 420  # for many bars

_CLOCK = "utcFormat(datum.value, utchours(datum.value) + utcminutes(datum.value) ? '%H:%M' : '%-d %b')"
_FILLED = 0.86  # of a step's width: the rest keeps bars apart
_TIGHT = 6  # pixels between the parts around a plot, which are wide apart otherwise
_PALE = 0.4  # opacity
_LABEL_WIDTH = 190  # pixels


def over_time(series: pl.DataFrame, palette: Palette, measure: str, step: timedelta) -> alt.Chart:
    """A bar a step; a pale one may still change.

    Args:
        series: of `figures.series`.
        palette: of the theme.
        measure: `events` or `conversions`.
        step: of the series.
    """
    edge = (pl.col("start") + step * _FILLED).alias("edge")
    shown = series.select("start", edge, pl.col(measure).alias("count"), "state", _span(step).alias("span"))
    states = alt.Scale(domain=[COMPLETE, EARLY], range=[1.0, _PALE])
    colour = palette.events if measure == "events" else palette.conversions
    chart: alt.Chart = (
        alt.Chart(shown, title=_title(measure.capitalize()), height=HEIGHT)
        .mark_rect(color=colour)
        .encode(
            x=alt.X("start:T", title="time (UTC)", scale=alt.Scale(type="utc"), axis=_clock()),
            x2="edge:T",
            y=alt.Y("count:Q", title=f"{measure} per {step_words(step)}", axis=_counts()),
            y2=alt.datum(0),
            opacity=alt.Opacity("state:O", scale=states, legend=_legend()),
            tooltip=[
                alt.Tooltip("span:N", title="when (UTC)"),
                alt.Tooltip("count:Q", title=measure, format=",d"),
                alt.Tooltip("state:N", title="state"),
            ],
        )
    )
    return chart


def by_channel(sessions: pl.DataFrame, palette: Palette) -> alt.Chart:
    """A bar a channel, longest first."""
    chart: alt.Chart = (
        alt.Chart(sessions, title=_title("Sessions by channel"), height=HEIGHT)
        .mark_bar(color=palette.sessions)
        .encode(
            x=alt.X("sessions:Q", title="sessions started", axis=_counts()),
            y=alt.Y("channel:N", title=None, sort=None, axis=alt.Axis(labelLimit=_LABEL_WIDTH)),
            tooltip=[alt.Tooltip("channel:N"), alt.Tooltip("sessions:Q", format=",d")],
        )
    )
    return chart


def credit(credited: pl.DataFrame, palette: Palette, measure: str, unit: str) -> alt.Chart:
    """A group of bars a campaign or channel, a bar a model.

    Args:
        credited: of `figures.credited`, in the order they are to be shown.
        palette: of the theme.
        measure: `reporting_value` or `conversions`.
        unit: what it is measured in.
    """
    colours = alt.Scale(domain=list(MODELS), range=list(palette.models))
    chart: alt.Chart = (
        alt.Chart(credited, title=_title("Credit by model"), height=TALL)
        .mark_bar()
        .encode(
            x=alt.X(measure, type="quantitative", title=f"{unit} credited", axis=_amounts()),
            y=alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=_LABEL_WIDTH)),
            yOffset=alt.YOffset("model:N", sort=list(MODELS)),
            color=alt.Color("model:N", scale=colours, legend=_legend()),
            tooltip=[
                alt.Tooltip("label:N", title="credited to"),
                alt.Tooltip("model:N"),
                alt.Tooltip(measure, type="quantitative", title=unit, format=",.2f"),
            ],
        )
    )
    return chart


def _clock() -> alt.Axis:
    return alt.Axis(labelExpr=_CLOCK, grid=False, tickCount=8, titlePadding=_TIGHT)


def _counts() -> alt.Axis:
    return alt.Axis(format=",d", tickMinStep=1, tickCount=5, titlePadding=_TIGHT)


def _amounts() -> alt.Axis:
    return alt.Axis(format="~s", tickCount=5, titlePadding=_TIGHT)


def _title(text: str) -> alt.Title:
    return alt.Title(text, offset=_TIGHT)


def _legend() -> alt.Legend:
    return alt.Legend(
        title=None,
        orient="top",
        symbolType="square",
        offset=_TIGHT,
        padding=0,
        rowPadding=0,
        columnPadding=16,
    )


def _span(step: timedelta) -> pl.Expr:
    """When a step is, in words: a browser would tell it in its own time zone."""
    if step >= timedelta(days=1):
        return pl.col("start").dt.strftime("%-d %b %Y")
    return pl.format(
        "{}–{}", pl.col("start").dt.strftime("%-d %b %H:%M"), (pl.col("start") + step).dt.strftime("%H:%M")
    )
