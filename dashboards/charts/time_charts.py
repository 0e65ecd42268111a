"""Charts over time. Everything that varies is in their data, so that a refresh redraws only the marks."""

from datetime import timedelta

import altair as alt
import polars as pl
from metrics.traffic import COMPLETE, EARLY
from period import step_words

from charts.axes import PLAIN, amounts, clock, counts, days, framed, labels, legend, round_numbers, span
from charts.bar_charts import HEIGHT
from charts.palette import Palette

_FILLED = 0.86  # width of a bar, relative to its step
_PALE = 0.4  # opacity
_FEWEST = 3  # points that a line joins


def over_time(
    series: pl.DataFrame,
    palette: Palette,
    measure: str,
    step: timedelta,
    zone: str,
    before: pl.DataFrame,
    against: str,
) -> alt.LayerChart:
    """One bar per time step, pale if it may still change, and a line for the period before.

    Args:
        series: the result of `metrics.traffic.series`.
        palette: colours of the theme.
        measure: `events` or `conversions`.
        step: time step of the series.
        zone: time zone of its days (IANA).
        before: the series of the period before, shifted to the times of `series`.
        against: name of the period before.
    """
    shown = series.select(
        "start",
        (pl.col("start") + step * _FILLED).alias("edge"),
        pl.col(measure).alias("count"),
        "state",
        span(step, zone),
    )
    when = f"when ({zone if step >= timedelta(days=1) else 'UTC'})"
    states = alt.Scale(domain=[COMPLETE, EARLY], range=[1.0, _PALE])
    x = alt.X("start:T", title="time (UTC)", scale=alt.Scale(type="utc"), axis=clock())
    bars = (
        alt.Chart(shown)
        .mark_rect(color=palette.events if measure == "events" else palette.conversions)
        .encode(
            x=x,
            x2="edge:T",
            y=alt.Y(
                "count:Q", title=f"{measure} per {step_words(step)}", axis=counts(), scale=round_numbers()
            ),
            y2=alt.datum(0),
            opacity=alt.Opacity("state:O", scale=states, legend=legend()),
            tooltip=[
                alt.Tooltip("span:N", title=when),
                alt.Tooltip("count:Q", title=measure, format=",d"),
                alt.Tooltip("state:N", title="state"),
            ],
        )
    )
    line = (
        alt.Chart(_steps(before, measure, step))
        .mark_line(color=palette.quiet, strokeWidth=1.2, interpolate="step-after")
        .encode(x=x, y="count:Q")
    )
    heading = measure.capitalize() + ("" if before.is_empty() else f"; grey line: {against}")
    return framed(bars, line, heading=heading, height=HEIGHT)


def lines(
    rows: pl.DataFrame,
    palette: Palette,
    x: str,
    y: str,
    series: str,
    names: list[str],
    heading: str,
    unit: str,
    format_: str = PLAIN,
) -> alt.LayerChart:
    """One line per name, with points that show a tooltip; points alone where a line would join two."""
    is_day = rows[x].dtype == pl.Date
    shown = rows.with_columns(
        pl.col(x).cast(pl.Datetime("us", "UTC")),
        pl.col(x).dt.strftime("%-d %b %Y" if is_day else "%-d %b %H:%M:%S").alias("when"),
    )
    axis = days(rows[x].n_unique()) if is_day else clock()
    colours = alt.Scale(domain=names, range=list(palette.series[: len(names)]))
    whole = rows[y].dtype.is_integer()
    chart = alt.Chart(shown)
    drawn = (
        chart.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
        if rows[x].n_unique() >= _FEWEST
        else chart.mark_point(filled=True, size=60, opacity=1)
    )
    marks = drawn.encode(
        x=alt.X(f"{x}:T", title="day" if is_day else "time (UTC)", scale=alt.Scale(type="utc"), axis=axis),
        y=alt.Y(f"{y}:Q", title=unit, axis=counts() if whole else amounts(format_), scale=round_numbers()),
        color=alt.Color(f"{series}:N", scale=colours, legend=legend(label_limit=160)),
        tooltip=[
            alt.Tooltip("when:N", title="day" if is_day else "when (UTC)"),
            alt.Tooltip(f"{series}:N"),
            alt.Tooltip(f"{y}:Q", title=unit, format=format_),
        ],
    )
    return framed(marks, heading=heading, height=HEIGHT)


def columns_over_time(
    rows: pl.DataFrame, heading: str, unit: str, parts: dict[str, str], height: int = HEIGHT
) -> alt.LayerChart:
    """One bar per row from `start` to `edge`, with height `count`, coloured by `part`.

    Args:
        rows: start, edge, count, part, when (as text).
        heading: title of the chart.
        unit: unit of the count.
        parts: the colour of each part.
        height: height in pixels.
    """
    colours = alt.Scale(domain=list(parts), range=list(parts.values()))
    marks = (
        alt.Chart(rows)
        .mark_rect()
        .encode(
            x=alt.X("start:T", title="time (UTC)", scale=alt.Scale(type="utc"), axis=clock()),
            x2="edge:T",
            y=alt.Y("count:Q", title=unit, axis=counts(), scale=round_numbers()),
            y2=alt.datum(0),
            color=alt.Color("part:N", scale=colours, legend=legend()),
            tooltip=[
                alt.Tooltip("when:N", title="when (UTC)"),
                alt.Tooltip("part:N", title="state"),
                alt.Tooltip("count:Q", title=unit, format=",d"),
            ],
        )
    )
    return framed(marks, heading=heading, height=height)


def results_over_time(rows: pl.DataFrame, palette: Palette, heading: str) -> alt.LayerChart:
    """One mark per evaluation of a table: a circle if all expectations were met, else a diamond.

    Args:
        rows: run_at, table, result, details, when.
        palette: colours of the theme.
        heading: title of the chart.
    """
    names = ["all met", "not all met"]
    marks = (
        alt.Chart(rows)
        .mark_point(filled=True, size=90, opacity=0.95)
        .encode(
            x=alt.X("run_at:T", title="time (UTC)", scale=alt.Scale(type="utc", padding=16), axis=clock()),
            y=labels("table"),
            color=alt.Color(
                "result:N",
                scale=alt.Scale(domain=names, range=[palette.more, palette.less]),
                legend=legend(),
            ),
            shape=alt.Shape("result:N", scale=alt.Scale(domain=names, range=["circle", "diamond"])),
            tooltip=[
                alt.Tooltip("when:N", title="when (UTC)"),
                alt.Tooltip("table:N"),
                alt.Tooltip("details:N", title="expectations"),
            ],
        )
    )
    return framed(marks, heading=heading, height=220)


def _steps(series: pl.DataFrame, measure: str, step: timedelta) -> pl.DataFrame:
    """Start and count of a series, with count 0 for steps that have no row."""
    if series.is_empty():
        return series.select("start", pl.col(measure).alias("count"))
    first, last = series["start"].min(), series["start"].max()
    starts = pl.datetime_range(first, last, step, eager=True).alias("start").to_frame()
    counted = starts.join(series, on="start", how="left", maintain_order="left")
    return counted.select("start", pl.col(measure).fill_null(0).alias("count"))
