"""Charts of bars. What varies is in their data, so that a refresh redraws marks not the page."""

import altair as alt
import polars as pl

from charts.axes import amounts, counts, framed, labels, legend, round_numbers
from charts.palette import Palette

HEIGHT = 280  # pixels; the same whatever is shown, so that nothing jumps
TALL = 400  # for many bars


def bars(
    rows: pl.DataFrame,
    palette: Palette,
    label: str,
    measure: str,
    heading: str,
    unit: str,
    height: int = HEIGHT,
    details: str = "",
) -> alt.LayerChart:
    """A bar a label, in the order of the rows.

    Args:
        rows: label, measure, details.
        palette: of the theme.
        label: column of the labels.
        measure: column of the lengths.
        heading: of the chart.
        unit: of the measure.
        height: in pixels.
        details: column of words that stand at the ends of the bars, if there are any.
    """
    whole = rows[measure].dtype.is_integer()
    base = alt.Chart(rows).encode(
        x=alt.X(
            f"{measure}:Q",
            title=unit,
            axis=counts() if whole else amounts(),
            scale=round_numbers(rows[measure].max() if details else None),
        ),
        y=labels(label),
    )
    marks = base.mark_bar(color=palette.events).encode(
        tooltip=[
            alt.Tooltip(f"{label}:N"),
            alt.Tooltip(f"{measure}:Q", title=unit, format=",d" if whole else ",.2f"),
        ]
    )
    words = base.mark_text(align="left", dx=5, color=palette.text, fontSize=12).encode(text=f"{details}:N")
    return framed(*((marks, words) if details else (marks,)), heading=heading, height=height)


def grouped(
    rows: pl.DataFrame,
    palette: Palette,
    measure: str,
    heading: str,
    unit: str,
    series: list[str],
    height: int = TALL,
) -> alt.LayerChart:
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
    marks = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            x=alt.X(
                measure, type="quantitative", title=f"{unit} credited", axis=amounts(), scale=round_numbers()
            ),
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
    return framed(marks, heading=heading, height=height)


def change(rows: pl.DataFrame, palette: Palette, heading: str, unit: str) -> alt.LayerChart:
    """A bar a label from zero: to the right what is more, to the left what is less."""
    ways = ["more", "less"]
    colour = alt.Color(
        "way:N", scale=alt.Scale(domain=ways, range=[palette.more, palette.less]), legend=legend()
    )
    way = pl.when(pl.col("change") < 0).then(pl.lit("less")).otherwise(pl.lit("more"))
    rows = rows.with_columns(way.alias("way"))
    marks = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            x=alt.X("change:Q", title=f"{unit}, more or less", axis=amounts("+,.2~f"), scale=round_numbers()),
            y=labels("label"),
            color=colour,
            tooltip=[
                alt.Tooltip("label:N", title="credited to"),
                alt.Tooltip("change:Q", title=f"{unit}, change", format="+,.2f"),
            ],
        )
    )
    return framed(marks, heading=heading, height=TALL)


def stacked(
    rows: pl.DataFrame,
    palette: Palette,
    label: str,
    measure: str,
    part: str,
    parts: list[str],
    heading: str,
    unit: str,
) -> alt.LayerChart:
    """A bar a label, made of parts."""
    colours = alt.Scale(
        domain=parts, range=[palette.events, palette.conversions, palette.quiet][: len(parts)]
    )
    marks = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            x=alt.X(f"{measure}:Q", title=unit, axis=counts(), scale=round_numbers()),
            y=labels(label),
            color=alt.Color(f"{part}:N", scale=colours, legend=legend()),
            order=alt.Order("rank:Q"),
            tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{part}:N"), alt.Tooltip(f"{measure}:Q")],
        )
    )
    return framed(marks, heading=heading, height=TALL)
