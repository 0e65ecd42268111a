"""Heat maps: one cell per row and column, with its figure in it."""

import altair as alt
import polars as pl

from charts.axes import framed, labels
from charts.palette import LIGHT, Palette

_FULL = 0.55  # of the largest figure: text on fuller cells is the other way round


def heat_map(
    rows: pl.DataFrame, palette: Palette, label: str, column: str, measure: str, heading: str, height: int
) -> alt.LayerChart:
    """One cell per label and column, darker for larger figures.

    Args:
        rows: label, column (text, in the order of the rows), measure, words (the figure as text), people.
        palette: colours of the theme.
        label: column of the labels on the left.
        column: column of the labels above.
        measure: what the colour shows.
        heading: title of the chart.
        height: height in pixels.
    """
    largest = rows[measure].max() or 1.0
    x = alt.X(f"{column}:N", title=None, sort=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False))
    base = alt.Chart(rows).encode(x=x, y=labels(label))
    cells = base.mark_rect(color=palette.events, stroke=None).encode(
        opacity=alt.Opacity(
            f"{measure}:Q", scale=alt.Scale(domain=[0, largest], range=[0.06, 1.0], clamp=True), legend=None
        ),
        tooltip=[
            alt.Tooltip(f"{label}:N"),
            alt.Tooltip(f"{column}:N", title="after"),
            alt.Tooltip("words:N", title=measure.replace("_", " ")),
            alt.Tooltip("people:Q", title="people", format=",d"),
        ],
    )
    on_full = "#FFFFFF" if palette == LIGHT else "#101820"
    is_full = alt.datum[measure] > _FULL * largest
    text = base.mark_text(fontSize=12).encode(
        text="words:N", color=alt.condition(is_full, alt.value(on_full), alt.value(palette.text))
    )
    return framed(cells, text, heading=heading, height=height)
