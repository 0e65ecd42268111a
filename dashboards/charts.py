"""The application's charts. What varies is in their data, so that a refresh redraws marks not the page."""

from datetime import timedelta

import altair as alt
import polars as pl
from figures.traffic import COMPLETE, EARLY
from palette import Palette
from period import step_words

HEIGHT = 280  # pixels; the same whatever is shown, so that nothing jumps
TALL = 400  # for many bars

CLOCK = "utcFormat(datum.value, utchours(datum.value) + utcminutes(datum.value) ? '%H:%M' : '%-d %b')"
_FILLED = 0.86  # of a step's width: the rest keeps bars apart
_TIGHT = 6  # pixels between the parts around a plot, which are wide apart otherwise
_PALE = 0.4  # opacity
_LABEL_WIDTH = 190  # pixels


def over_time(
    series: pl.DataFrame, palette: Palette, measure: str, step: timedelta, before: pl.DataFrame
) -> alt.LayerChart:
    """A bar a step, a pale one may still change; a line for the same time before.

    Args:
        series: of `figures.traffic.series`.
        palette: of the theme.
        measure: `events` or `conversions`.
        step: of the series.
        before: the series of the stretch before, shifted to this one's time.
    """
    shown = series.select(
        "start",
        (pl.col("start") + step * _FILLED).alias("edge"),
        pl.col(measure).alias("count"),
        "state",
        span(step),
    )
    states = alt.Scale(domain=[COMPLETE, EARLY], range=[1.0, _PALE])
    x = alt.X("start:T", title="time (UTC)", scale=alt.Scale(type="utc"), axis=clock())
    bars = (
        alt.Chart(shown)
        .mark_rect(color=palette.events if measure == "events" else palette.conversions)
        .encode(
            x=x,
            x2="edge:T",
            y=alt.Y("count:Q", title=f"{measure} per {step_words(step)}", axis=counts()),
            y2=alt.datum(0),
            opacity=alt.Opacity("state:O", scale=states, legend=legend()),
            tooltip=[
                alt.Tooltip("span:N", title="when (UTC)"),
                alt.Tooltip("count:Q", title=measure, format=",d"),
                alt.Tooltip("state:N", title="state"),
            ],
        )
    )
    middle = (pl.col("start") + step / 2).alias("start")
    line = (
        alt.Chart(before.select(middle, pl.col(measure).alias("count")))
        .mark_line(color=palette.quiet, strokeWidth=1.5, interpolate="monotone")
        .encode(x=x, y="count:Q")
    )
    return alt.layer(bars, line).properties(title=title(measure.capitalize()), height=HEIGHT)


def bars(
    rows: pl.DataFrame,
    palette: Palette,
    label: str,
    measure: str,
    heading: str,
    unit: str,
    height: int = HEIGHT,
) -> alt.Chart:
    """A bar a label, in the order of the rows."""
    whole = rows[measure].dtype.is_integer()
    return (
        alt.Chart(rows, title=title(heading), height=height)
        .mark_bar(color=palette.events)
        .encode(
            x=alt.X(f"{measure}:Q", title=unit, axis=counts() if whole else amounts()),
            y=labels(label),
            tooltip=[
                alt.Tooltip(f"{label}:N"),
                alt.Tooltip(f"{measure}:Q", title=unit, format=",d" if whole else ",.2f"),
            ],
        )
    )


def grouped(
    rows: pl.DataFrame,
    palette: Palette,
    measure: str,
    heading: str,
    unit: str,
    series: list[str],
    height: int = TALL,
) -> alt.Chart:
    """A group of bars a label, a bar a model.

    Args:
        rows: label, model and the measure, in the order they are to be shown.
        palette: of the theme.
        measure: `reporting_value` or `conversions`.
        heading: of the chart.
        unit: what it is measured in.
        series: the models, in their order.
        height: in pixels.
    """
    colours = alt.Scale(domain=series, range=list(palette.series[: len(series)]))
    return (
        alt.Chart(rows, title=title(heading), height=height)
        .mark_bar()
        .encode(
            x=alt.X(measure, type="quantitative", title=f"{unit} credited", axis=amounts()),
            y=labels("label"),
            yOffset=alt.YOffset("model:N", sort=series),
            color=alt.Color("model:N", scale=colours, legend=legend()),
            tooltip=[
                alt.Tooltip("label:N", title="credited to"),
                alt.Tooltip("model:N"),
                alt.Tooltip(measure, type="quantitative", title=unit, format=",.2f"),
            ],
        )
    )


def change(rows: pl.DataFrame, palette: Palette, heading: str, unit: str) -> alt.Chart:
    """A bar a label from zero: to the right what is more, to the left what is less."""
    ways = ["more", "less"]
    colour = alt.Color(
        "way:N", scale=alt.Scale(domain=ways, range=[palette.more, palette.less]), legend=legend()
    )
    way = pl.when(pl.col("change") < 0).then(pl.lit("less")).otherwise(pl.lit("more"))
    rows = rows.with_columns(way.alias("way"))
    return (
        alt.Chart(rows, title=title(heading), height=TALL)
        .mark_bar()
        .encode(
            x=alt.X("change:Q", title=f"{unit}, more or less", axis=amounts("+~s")),
            y=labels("label"),
            color=colour,
            tooltip=[
                alt.Tooltip("label:N", title="credited to"),
                alt.Tooltip("change:Q", title=f"{unit}, change", format="+,.2f"),
            ],
        )
    )


def lines(
    rows: pl.DataFrame,
    palette: Palette,
    x: str,
    y: str,
    series: str,
    names: list[str],
    heading: str,
    unit: str,
    format_: str = "~s",
) -> alt.Chart:
    """A line a name, with points that can be pointed at."""
    is_day = rows[x].dtype == pl.Date
    shown = rows.with_columns(
        pl.col(x).cast(pl.Datetime("us", "UTC")),
        pl.col(x).dt.strftime("%-d %b %Y" if is_day else "%-d %b %H:%M:%S").alias("when"),
    )
    axis = (
        alt.Axis(
            format="%-d %b",
            grid=False,
            tickCount={"interval": "day", "step": max(1, rows[x].n_unique() // 8)},
            titlePadding=_TIGHT,
        )
        if is_day
        else clock()
    )
    colours = alt.Scale(domain=names, range=list(palette.series[: len(names)]))
    whole = rows[y].dtype.is_integer()
    return (
        alt.Chart(shown, title=title(heading), height=HEIGHT)
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X(
                f"{x}:T", title="day" if is_day else "time (UTC)", scale=alt.Scale(type="utc"), axis=axis
            ),
            y=alt.Y(f"{y}:Q", title=unit, axis=counts() if whole else amounts(format_)),
            color=alt.Color(f"{series}:N", scale=colours, legend=legend(label_limit=160)),
            tooltip=[
                alt.Tooltip("when:N", title="day" if is_day else "when (UTC)"),
                alt.Tooltip(f"{series}:N"),
                alt.Tooltip(f"{y}:Q", title=unit, format=",.6~g" if format_ == "~s" else format_),
            ],
        )
    )


def stacked(
    rows: pl.DataFrame,
    palette: Palette,
    label: str,
    measure: str,
    part: str,
    parts: list[str],
    heading: str,
    unit: str,
) -> alt.Chart:
    """A bar a label, made of parts."""
    colours = alt.Scale(
        domain=parts, range=[palette.events, palette.conversions, palette.quiet][: len(parts)]
    )
    return (
        alt.Chart(rows, title=title(heading), height=TALL)
        .mark_bar()
        .encode(
            x=alt.X(f"{measure}:Q", title=unit, axis=counts()),
            y=labels(label),
            color=alt.Color(f"{part}:N", scale=colours, legend=legend()),
            order=alt.Order("rank:Q"),
            tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{part}:N"), alt.Tooltip(f"{measure}:Q")],
        )
    )


def columns_over_time(
    rows: pl.DataFrame, heading: str, unit: str, parts: dict[str, str], height: int = HEIGHT
) -> alt.Chart:
    """A column from `start` to `edge` of height `count`, coloured by `part`.

    Args:
        rows: start, edge, count, part, when (in words).
        heading: of the chart.
        unit: of the count.
        parts: the colour of each part.
        height: in pixels.
    """
    colours = alt.Scale(domain=list(parts), range=list(parts.values()))
    return (
        alt.Chart(rows, title=title(heading), height=height)
        .mark_rect()
        .encode(
            x=alt.X("start:T", title="time (UTC)", scale=alt.Scale(type="utc"), axis=clock()),
            x2="edge:T",
            y=alt.Y("count:Q", title=unit, axis=counts()),
            y2=alt.datum(0),
            color=alt.Color("part:N", scale=colours, legend=legend()),
            tooltip=[
                alt.Tooltip("when:N", title="when (UTC)"),
                alt.Tooltip("part:N", title="state"),
                alt.Tooltip("count:Q", title=unit, format=",d"),
            ],
        )
    )


def verdicts(rows: pl.DataFrame, palette: Palette, heading: str) -> alt.Chart:
    """A mark a look at a table: a circle where all was met, a diamond where not.

    Args:
        rows: run_at, table, verdict, told, when.
        palette: of the theme.
        heading: of the chart.
    """
    names = ["all met", "not all met"]
    return (
        alt.Chart(rows, title=title(heading), height=220)
        .mark_point(filled=True, size=90, opacity=0.95)
        .encode(
            x=alt.X("run_at:T", title="time (UTC)", scale=alt.Scale(type="utc", padding=16), axis=clock()),
            y=labels("table"),
            color=alt.Color(
                "verdict:N",
                scale=alt.Scale(domain=names, range=[palette.more, palette.less]),
                legend=legend(),
            ),
            shape=alt.Shape("verdict:N", scale=alt.Scale(domain=names, range=["circle", "diamond"])),
            tooltip=[
                alt.Tooltip("when:N", title="when (UTC)"),
                alt.Tooltip("table:N"),
                alt.Tooltip("told:N", title="expectations"),
            ],
        )
    )


def clock() -> alt.Axis:
    """An axis of instants: hours within a day, days otherwise."""
    return alt.Axis(labelExpr=CLOCK, grid=False, tickCount=8, titlePadding=_TIGHT)


def counts() -> alt.Axis:
    """An axis of whole numbers."""
    return alt.Axis(format=",d", tickMinStep=1, tickCount=5, titlePadding=_TIGHT)


def amounts(format_: str = "~s") -> alt.Axis:
    """An axis of any numbers."""
    return alt.Axis(format=format_, tickCount=5, titlePadding=_TIGHT)


def labels(column: str) -> alt.Y:
    """Labels down the side, in the order of the rows."""
    return alt.Y(
        f"{column}:N", title=None, sort=None, axis=alt.Axis(labelLimit=_LABEL_WIDTH, labelOverlap=False)
    )


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
