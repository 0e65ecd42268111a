"""Click-through rate by rank of search results; rates of few impressions are pale."""

import altair as alt
import polars as pl

from charts.axes import framed, labels, legend, round_numbers
from charts.bar_charts import TALL
from charts.palette import Palette

RANKS = 20  # ranks in the chart; the table has all
_ENOUGH = 100  # impressions; a rate of fewer is mostly noise
_PALE = 0.4  # opacity
_STATES = [f"shown {_ENOUGH} times or more", "shown less often"]


def click_through(rows: pl.DataFrame, palette: Palette) -> alt.LayerChart:
    """One bar per rank, pale if the rank was shown less than 100 times.

    Args:
        rows: rank, shown, clicked, click_through, words (text after the bar).
        palette: colours of the theme.
    """
    enough = pl.when(pl.col("shown") >= _ENOUGH).then(pl.lit(_STATES[0])).otherwise(pl.lit(_STATES[1]))
    shown = rows.select(
        pl.col("rank").cast(pl.String), "shown", "clicked", "click_through", "words", state=enough
    )
    x = alt.X(
        "click_through:Q",
        title="click-through rate",
        axis=_shares(),
        scale=round_numbers(rows["click_through"].max() or 0.1),
    )
    y = labels("rank")
    y.title = "rank"
    base = alt.Chart(shown).encode(x=x, y=y)
    bars = base.mark_bar(color=palette.events).encode(
        opacity=alt.Opacity("state:N", scale=alt.Scale(domain=_STATES, range=[1.0, _PALE]), legend=legend()),
        tooltip=[
            alt.Tooltip("rank:N"),
            alt.Tooltip("shown:Q", format=",d"),
            alt.Tooltip("clicked:Q", format=",d"),
            alt.Tooltip("click_through:Q", title="click-through rate", format=".1%"),
        ],
    )
    words = base.mark_text(align="left", dx=5, color=palette.text, fontSize=12).encode(text="words:N")
    return framed(bars, words, heading="Click-through rate by rank", height=TALL)


def _shares() -> alt.Axis:
    """An axis of percentages, with labels up to 100 %. The space beyond is for text."""
    up_to_all = "datum.value <= 1 ? datum.label : ''"
    return alt.Axis(format=".0%", labelExpr=up_to_all, tickCount=5, titlePadding=6, labelFlush=False)
