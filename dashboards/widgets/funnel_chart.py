"""The funnel on page Audience: a chart, whole or split by a custom dimension, and the steps of each value."""

from functools import partial

import polars as pl
import streamlit as st
from charts import bar_charts
from metrics import audience, custom_dimensions
from query_scope import Scope
from tables.query import sum_seen
from tables.table_cache import Look

from widgets import layout
from widgets.formatting import plain_text
from widgets.layout import number_column, place_chart, place_table, share_column, text_column

ALL_OTHERS = "(all others)"
_PARTS = 5
_TABLE = 386  # pixels: ten values
_UNIT = "visitors of a day, summed"
_HEADING = "Funnel: each step after the one before, on one day"
_NO_STEPS = (
    "No visitor did the first of these steps on these days.\n"
    "Missing: Promotion Viewed with a promotion_id; then page, Products Searched, Order Completed."
)


def choose_dimension(look: Look, scope: Scope) -> str | None:
    """Show a choice of the custom dimensions that split the funnel, if there are any."""
    names = look.figure(custom_dimensions.funnel_dimensions, scope)
    if not names:
        return None
    return st.selectbox(
        "Split the funnel by",
        names,
        index=None,
        key="funnel",
        bind="query-params",
        format_func=plain_text,
        placeholder="Nothing",
        width=260,
    )


def place_funnel(look: Look, scope: Scope, dimension: str | None) -> None:
    """Show the steps as bars; of a dimension, the values with most visitors as parts of each bar."""
    reached = look.figure(audience.funnel, scope)
    rows, draw = _shares(reached), _whole
    if dimension:
        rows = by_step(_labelled(look, scope, dimension))
        parts = rows["value"].unique(maintain_order=True).to_list()
        draw = partial(
            bar_charts.stacked,
            label="step",
            measure="visitors",
            part="value",
            parts=parts,
            heading=f"Funnel by {dimension}",
            unit=_UNIT,
        )
    shown = rows if reached["visitors"].sum() else rows.clear()
    nothing = layout.why_empty(look, _NO_STEPS, "gold.funnel.visitors")
    place_chart(shown, draw, nothing, bar_charts.TALL)


def place_steps(look: Look, scope: Scope, dimension: str) -> None:
    """Show the steps of each value as a table."""
    values = _labelled(look, scope, dimension)
    first, last = audience.STEPS[0], audience.STEPS[-1]
    columns = {
        "value": text_column("Visitors with", 160),
        **{step: number_column(step.capitalize(), meaning=_UNIT.capitalize()) for step in audience.STEPS},
        "rate": share_column(f"{last.capitalize()} rate", f"Of visitors with an {first}"),
    }
    place_table(values, columns, "funnel", layout.fitting(values, _TABLE), f"Funnel by {dimension}")


def by_step(values: pl.DataFrame) -> pl.DataFrame:
    """Rows of the chart: value, rank, step, visitors. Values after the first ones are summed."""
    rank = pl.int_range(pl.len()).clip(0, _PARTS)
    name = pl.when(rank < _PARTS).then("value").otherwise(pl.lit(ALL_OTHERS))
    top = values.with_columns(name.alias("value"), rank.alias("rank"))
    summed = top.group_by("value", "rank", maintain_order=True).agg(map(sum_seen, audience.STEPS))
    steps = pl.DataFrame({"step": audience.STEPS})
    rows = summed.unpivot(
        audience.STEPS, index=("value", "rank"), variable_name="step", value_name="visitors"
    )
    return steps.join(rows, on="step", maintain_order="left_right")


def _labelled(look: Look, scope: Scope, dimension: str) -> pl.DataFrame:
    return layout.shown_labels(look.figure(custom_dimensions.funnel_by_value, scope, dimension), "value")


_whole = partial(
    bar_charts.bars,
    label="step",
    measure="visitors",
    heading=_HEADING,
    unit=_UNIT,
    height=bar_charts.TALL,
    details="details",
)


def _shares(reached: pl.DataFrame) -> pl.DataFrame:
    """Add the column `details`: the count of each step, and its share of the previous step, as text."""
    number, share = layout.locale().number, layout.locale().share
    details = [
        number(count) if part is None else f"{number(count)}, {share(part)} of {before}"
        for (_, count, part), before in zip(
            reached.select("step", "visitors", "share").iter_rows(), [None, *reached["step"]], strict=False
        )
    ]
    return reached.with_columns(pl.Series("details", details))
