"""Audience: who came, where they came in and left, what they looked for, how far they got."""

from functools import partial

import charts
import page
import placing
import polars as pl
import streamlit as st
from figures import audience
from placing import number_column, place_chart, place_table, share_column, text_column
from reading.lake import Look
from scope import Scope

_TERMS = 14


def body(look: Look, scope: Scope) -> None:
    """Sessions, the funnel, searches, entry and exit pages."""
    found = look.figure(audience.visits, scope)
    number, share = placing.locale().number, placing.locale().share
    count = found.sessions
    placing.metrics(
        {
            "Sessions": (number(count), "Started in the period; bots left out."),
            "Pages each": (
                number(found.page_views / count if count else 0, 1),
                "Pages and screens a session.",
            ),
            "One page only": (
                share(found.single / count if count else None),
                "Sessions with one page at most.",
            ),
        }
    )
    searched = look.figure(audience.searches, scope)
    reached = look.figure(audience.funnel, scope)
    funnel = partial(
        charts.bars,
        label="step",
        measure="visitors",
        heading="Funnel: each step after the one before, on one day",
        unit="visitors of a day, summed",
        height=charts.TALL,
        told="told",
    )
    terms = partial(
        charts.stacked,
        label="query",
        measure="searches",
        part="outcome",
        parts=["clicked", "not clicked"],
        heading="Searches with and without a click on a result",
        unit="searches",
    )
    placing.side_by_side(
        partial(
            place_chart,
            _shares(reached) if reached["visitors"].sum() else reached.clear(),
            funnel,
            "Nobody yet.",
            charts.TALL,
        ),
        partial(place_chart, _outcomes(searched), terms, "No searches on these days.", charts.TALL),
    )
    placing.side_by_side(
        partial(_pages, found.entries, "Entry pages", "entry-pages"),
        partial(_pages, found.exits, "Exit pages", "exit-pages"),
        partial(_terms, searched),
    )
    if found.cut:
        st.caption("More addresses than are read at once: choose a shorter period to have all of them.")
    st.caption("Funnel and searches: whole days, all channels and campaigns.")


def _shares(reached: pl.DataFrame) -> pl.DataFrame:
    """Each step with its count, and its share of the step before, in words."""
    number, share = placing.locale().number, placing.locale().share
    told = [
        number(count) if part is None else f"{number(count)}, {share(part)} of {before}"
        for (_, count, part), before in zip(
            reached.select("step", "visitors", "share").iter_rows(), [None, *reached["step"]], strict=False
        )
    ]
    return reached.with_columns(pl.Series("told", told))


def _outcomes(searched: pl.DataFrame) -> pl.DataFrame:
    top = placing.shown_labels(searched, "query").head(_TERMS)
    parts = (("clicked", "clicked", 0), ("unclicked", "not clicked", 1))
    return pl.concat(
        top.select(
            "query", pl.col(name).alias("searches"), pl.lit(word).alias("outcome"), pl.lit(rank).alias("rank")
        )
        for name, word, rank in parts
    )


def _pages(rows: pl.DataFrame, heading: str, name: str) -> None:
    columns = {"page": text_column("Page", 240), "sessions": number_column("Sessions")}
    place_table(rows, columns, name, heading=heading)


def _terms(searched: pl.DataFrame) -> None:
    columns = {
        "query": text_column("Searched for", 110),
        "searches": number_column("Searches"),
        "unclicked": number_column("No click"),
        "click_through": share_column("Clicked"),
    }
    place_table(searched, columns, "searches", heading="Search terms")


page.show(body)
