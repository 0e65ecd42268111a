"""Page Audience: sessions, funnel, searches, entry and exit pages, custom dimensions."""

from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import bar_charts, rank_chart
from metrics import audience, custom_dimensions, results
from query_scope import Scope
from tables.table_cache import Look
from widgets import funnel_chart, layout, page
from widgets.formatting import plain_text
from widgets.layout import number_column, place_chart, place_table, share_column, text_column

_TERMS = 14
_TABLE = 386  # pixels: ten ranks
_NO_VISITS = (
    "Sessions, entry and exit pages are left out: this role does not see sessions, their page views, or "
    "which of them are of bots."
)
_NO_VALUES = (
    "No visit on these days has a value.\n"
    "Missing: a dimension in conf/dimensions.yml, or what it reads in events."
)
_NO_RESULTS = (
    "No search on these days listed its results.\n"
    "Missing: products in Products Searched, or Product List Viewed with its search_id or query."
)


def body(look: Look, scope: Scope) -> None:
    """Show sessions, funnel, searches, results by rank, entry and exit pages, custom dimensions."""
    found = look.figure(audience.visits, scope) if look.sees(*audience.VISITS) else None
    if found:
        _figures(found)
    else:
        st.text(_NO_VISITS)
    searched = look.figure(audience.searches, scope)
    terms = partial(
        bar_charts.stacked,
        label="query",
        measure="searches",
        part="outcome",
        parts=["clicked", "not clicked"],
        heading="Searches with and without a click on a result",
        unit="searches",
    )
    no_searches = layout.why_empty(
        look,
        "No searches on these days.",
        "gold.search_performance.searches",
        "gold.search_performance.clicked_searches",
    )
    split = funnel_chart.choose_dimension(look, scope)
    layout.side_by_side(
        partial(funnel_chart.place_funnel, look, scope, split),
        partial(place_chart, _outcomes(searched), terms, no_searches, bar_charts.TALL),
    )
    if split:
        funnel_chart.place_steps(look, scope, split)
    _ranks(look, scope)
    pages = [partial(_pages, look, found, end) for end in ("entry", "exit")] if found else []
    layout.side_by_side(*pages, partial(_terms, searched))
    _dimensions(look, scope)
    if found:
        _limits(found)
    st.caption(
        "Funnel, searches and results: whole days, all channels and campaigns. The funnel counts visitors "
        "who did every step before on the same day: its orders are fewer than the conversions of other pages."
    )


def _figures(found: audience.Visits) -> None:
    number, share = layout.locale().number, layout.locale().share
    count = found.sessions
    layout.metrics(
        {
            "Sessions": (
                number(count),
                "Started in the period. Bots are left out: silver.sessions has them, gold has not.",
            ),
            "Pages per session": (
                number(found.page_views / count if count else 0, 1),
                "Pages and screens, on average.",
            ),
            "Bounce rate": (
                share(found.single / count if count else None),
                "Sessions with one page view at most.",
            ),
        }
    )


def _limits(found: audience.Visits) -> None:
    """Say which limits of what is read at once were reached."""
    if found.cut:
        st.caption("More addresses than are read at once: choose a shorter period to have all of them.")
    if found.bots_left:
        st.caption(
            f"Of the bots, only the {layout.locale().number(audience.BOTS)} found last are left out of "
            "sessions and pages: the others are counted."
        )


def _outcomes(searched: pl.DataFrame) -> pl.DataFrame:
    top = layout.shown_labels(searched, "query").head(_TERMS)
    top = top.drop_nulls(("clicked", "unclicked"))
    parts = (("clicked", "clicked", 0), ("unclicked", "not clicked", 1))
    return pl.concat(
        top.select(
            "query", pl.col(name).alias("searches"), pl.lit(word).alias("outcome"), pl.lit(rank).alias("rank")
        )
        for name, word, rank in parts
    )


def _ranks(look: Look, scope: Scope) -> None:
    """Show click-through by rank, for the results of all searches or of one search term."""
    query = st.selectbox(
        "Results of searches for",
        look.figure(results.shown_queries, scope),
        index=None,
        key="query",
        bind="query-params",
        format_func=plain_text,
        placeholder="All",
        width=260,
    )
    ranks = look.figure(results.by_rank, scope, query)
    first = _rates(ranks.filter(pl.col("rank") <= rank_chart.RANKS).drop_nulls("click_through"))
    nothing = layout.why_empty(
        look, _NO_RESULTS, "gold.result_performance.shown", "gold.result_performance.clicked"
    )
    columns = {
        "rank": number_column("Rank", meaning="Place in the list of results, from 1"),
        "shown": number_column("Shown", meaning="Results shown there"),
        "clicked": number_column("Clicked", meaning="Of these, results that were clicked"),
        "click_through": share_column("Click-through rate", "Clicked, of those shown"),
    }
    layout.side_by_side(
        partial(place_chart, first, rank_chart.click_through, nothing, bar_charts.TALL),
        partial(place_table, ranks, columns, "ranks", layout.fitting(ranks, _TABLE), "Results by rank"),
        widths=(1, 1),
    )


def _rates(ranks: pl.DataFrame) -> pl.DataFrame:
    """Add the column `words`: the rate of each rank, and how often it was shown, as text."""
    number, share = layout.locale().number, layout.locale().share
    words = [
        f"{share(rate)} of {number(shown)}"
        for rate, shown in ranks.select("click_through", "shown").iter_rows()
    ]
    return ranks.with_columns(pl.Series("words", words, pl.String))


def _dimensions(look: Look, scope: Scope) -> None:
    """Show visits, conversions and value by a custom dimension, if there are any."""
    names = look.figure(custom_dimensions.dimension_names, scope)
    if not names:
        return
    name = st.selectbox(
        "Split by", names, key="dimension", bind="query-params", format_func=plain_text, width=260
    )
    values = layout.shown_labels(look.figure(custom_dimensions.by_value, scope, name), "value")
    measure = custom_dimensions.main_measure(values)
    chart = partial(
        bar_charts.bars,
        label="value",
        measure=measure,
        heading=f"{measure.capitalize()} by {name}",
        unit=measure,
        height=bar_charts.TALL,
    )
    by = "by the last touch that is not direct"
    columns = {
        "value": text_column("Visits with", 160),
        "visits": number_column("Visits", meaning="Sessions started"),
        "conversions": number_column("Conversions", 1, f"Credited {by}"),
        "rate": share_column("Conversion rate", "Conversions, of the visits"),
        "credited": number_column(f"Value ({data_source.CURRENCY})", 2, f"Credited {by}"),
    }
    height = layout.fitting(values, _TABLE)
    nothing = layout.why_empty(look, _NO_VALUES, f"gold.dimension_performance.{measure}")
    layout.side_by_side(
        partial(place_chart, values.head(_TERMS).drop_nulls(measure), chart, nothing, bar_charts.TALL),
        partial(place_table, values, columns, "dimensions", height, "By value"),
        widths=(1, 1),
    )


def _pages(look: Look, found: audience.Visits, end: str) -> None:
    """Show the pages of one end of the sessions, `entry` or `exit`."""
    columns = {"page": text_column("Page", 240), "sessions": number_column("Sessions")}
    rows, address = found.entries if end == "entry" else found.exits, f"silver.sessions.{end}_url"
    seen = rows if look.sees(address) else rows.clear()
    nothing = layout.why_empty(look, "No pages in this period.", address)
    place_table(seen, columns, f"{end}-pages", heading=f"{end.capitalize()} pages", otherwise=nothing)


def _terms(searched: pl.DataFrame) -> None:
    columns = {
        "query": text_column("Searched for", 110),
        "searches": number_column("Searches"),
        "unclicked": number_column("No click"),
        "click_through": share_column("Clicked"),
    }
    place_table(searched, columns, "searches", heading="Search terms")


page.show(body)
