"""Bar charts. Everything that varies is in their data, so that a refresh redraws only the marks."""

import altair as alt
import polars as pl

from charts.axes import amounts, counts, framed, labels, legend, round_numbers
from charts.palette import Palette

HEIGHT = 280  # pixels; constant, so that the page layout stays stable
TALL = 400  # pixels, for many bars
_THICKEST = 44  # pixels
_FILLED = 0.5  # of the height, which axis and title share with the bars


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
    """One bar per label, in the order of the rows.

    Args:
        rows: columns label, measure, details.
        palette: colours of the theme.
        label: column of the labels.
        measure: column of the bar lengths.
        heading: title of the chart.
        unit: unit of the measure.
        height: height in pixels.
        details: column of the text after the bars; empty for no text.
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
    marks = base.mark_bar(color=palette.events, size=_thickness(rows.height, height)).encode(
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
    """A group of bars per label, with one bar per model.

    Args:
        rows: label, model and the measure, in display order.
        palette: colours of the theme.
        measure: `reporting_value` or `conversions`.
        heading: title of the chart.
        unit: unit of the measure.
        series: the models, in display order.
        height: height in pixels.
    """
    colours = alt.Scale(domain=series, range=list(palette.series[: len(series)]))
    bars_ = rows["label"].n_unique() * len(series)
    marks = (
        alt.Chart(rows)
        .mark_bar(size=_thickness(bars_, height))
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


def _thickness(count: int, height: int) -> float:
    """Pixels across a bar, if so many share the height: a single one does not fill the chart."""
    return min(_THICKEST, _FILLED * height / max(count, 1))


def change(rows: pl.DataFrame, palette: Palette, heading: str, unit: str) -> alt.LayerChart:
    """One bar per label: to the right of zero if positive, to the left if negative."""
    ways = ["more", "less"]
    colour = alt.Color(
        "way:N", scale=alt.Scale(domain=ways, range=[palette.more, palette.less]), legend=legend()
    )
    way = pl.when(pl.col("change") < 0).then(pl.lit("less")).otherwise(pl.lit("more"))
    rows = rows.with_columns(way.alias("way"))
    marks = (
        alt.Chart(rows)
        .mark_bar(size=_thickness(rows.height, TALL))
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
    """One stacked bar per label, of up to six parts."""
    few = (palette.events, palette.conversions, palette.quiet)
    colours = alt.Scale(
        domain=parts, range=list((few if len(parts) <= len(few) else palette.series)[: len(parts)])
    )
    marks = (
        alt.Chart(rows)
        .mark_bar(size=_thickness(rows[label].n_unique(), TALL))
        .encode(
            x=alt.X(f"{measure}:Q", title=unit, axis=counts(), scale=round_numbers()),
            y=labels(label),
            color=alt.Color(f"{part}:N", scale=colours, legend=legend()),
            order=alt.Order("rank:Q"),
            tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{part}:N"), alt.Tooltip(f"{measure}:Q")],
        )
    )
    return framed(marks, heading=heading, height=TALL)
