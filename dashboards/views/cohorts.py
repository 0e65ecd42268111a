"""Page Cohorts: people by their first touch, returns and value after 7, 30 and 90 days."""

from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import bar_charts
from charts.heat_map import heat_map
from metrics.cohorts import AGES, BY, Cohorts, cohorts
from metrics.traffic import extent
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.layout import number_column, place_chart, place_table, share_column, text_column

_TABLE = "gold.persons"
_COLUMNS = {"returning": "returns", "value": "value"}  # of the table, without the age
_CELL = {"group": pl.String, "after": pl.String, "words": pl.String, "people": pl.Int64}
_ROWS = 14  # groups in the heat maps; the table has all
_NOBODY = "Nobody with a first touch of these channels and campaigns yet."
_TOO_YOUNG = "No cohort is 7 days old yet."


def body(look: Look, scope: Scope) -> None:
    """Show returns and value after the first touch, in total, as heat maps, and as a table."""
    names = list(BY)
    by = st.selectbox("Rows", names, key="cohorts-by", bind="query-params", width=190)
    ends = look.figure(extent)
    end = ends[1] if ends else scope.period.end
    found = look.figure(cohorts, scope, end, BY[by or names[0]], look.unseen(_TABLE))
    if not found.people:
        layout.say_nothing(layout.why_empty(look, _NOBODY, _TABLE), bar_charts.TALL)
        return
    st.caption(
        "People of all weeks, by the channel and campaign of their first touch. A week counts for an age "
        f"once everybody in it is that old. Weeks begin on Monday, in the time zone {scope.period.zone}."
    )
    _figures(found)
    shown = layout.shown_labels(found.groups, "group")
    shown = shown.tail(_ROWS) if BY[by or names[0]] == "cohort_week" else shown.head(_ROWS)
    layout.side_by_side(
        partial(_map, look, shown, "returning", "Share who came back on a later day"),
        partial(_map, look, shown, "value", f"Value per person ({data_source.CURRENCY})"),
    )
    _table(found, by or names[0])


def _figures(found: Cohorts) -> None:
    number, share = layout.locale().number, layout.locale().share
    figures = {"People": (number(found.people), "With consent to analytics and attribution.")}
    for age, people, returning, _ in found.ages.rows():
        figures[f"Back within {age} days"] = (
            share(_per_person(returning, people)),
            f"Share of people in weeks that are {age} days old: a session on a later day.",
        )
    layout.metrics(figures)
    layout.metrics(
        {
            f"Value per person after {age} days ({data_source.CURRENCY})": (
                number(_per_person(value, people), 2),
                f"Of people in weeks that are {age} days old; less refunds until then.",
            )
            for age, people, _, value in found.ages.rows()
        }
    )


def _per_person(total: float | None, people: int) -> float | None:
    return None if total is None or not people else total / people


def _map(look: Look, groups: pl.DataFrame, measure: str, heading: str) -> None:
    written = layout.locale().share if measure == "returning" else partial(layout.locale().number, digits=2)
    cells = [
        {
            "group": row["group"],
            "after": f"{age} days",
            measure: row[f"{measure}_{age}"],
            "words": written(row[f"{measure}_{age}"]),
            "people": row[f"of_{age}"],
        }
        for row in groups.to_dicts()
        for age in AGES
        if row[f"{measure}_{age}"] is not None
    ]
    draw = partial(
        heat_map,
        label="group",
        column="after",
        measure=measure,
        heading=heading,
        height=bar_charts.TALL,
    )
    nothing = layout.why_empty(look, _TOO_YOUNG, *(f"{_TABLE}.{_COLUMNS[measure]}_{age}" for age in AGES))
    place_chart(pl.DataFrame(cells, {**_CELL, measure: pl.Float64}), draw, nothing, bar_charts.TALL)


def _table(found: Cohorts, by: str) -> None:
    label = text_column("Week from" if by == "Week" else by, 190)
    columns = {"group": label, "people": number_column("People")}
    for age in AGES:
        columns[f"returning_{age}"] = share_column(f"Back in {age} d", "Share who came back on a later day")
        columns[f"value_{age}"] = number_column(f"{data_source.CURRENCY} per person, {age} d", 2)
    height = layout.fitting(found.groups, bar_charts.TALL)
    place_table(found.groups, columns, "cohorts", heading=f"By {by.lower()}", height=height)


page.show(body)
