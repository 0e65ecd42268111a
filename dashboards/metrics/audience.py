"""Audience: sessions, entry and exit pages, searches, and the funnel."""

from dataclasses import dataclass

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query, sums
from tables.table_cache import Ask

STEPS = ("impression", "click", "visit", "search", "order")
VISITS = (
    "silver.bots.visitor_id",
    *(f"silver.sessions.{name}" for name in ("visitor_id", "started_at", "page_views")),
)
"""What `visits` needs: a role that sees no bots, or not whose a session is, would count bots."""

BOTS = 20_000
"""At most so many bots are excluded: a query that lists more is slow."""

_MOST = 50  # pages or terms listed
_ADDRESSES = 20_000  # distinct URLs read, before query strings are removed


@dataclass(frozen=True)
class Visits:
    """Sessions of a period, without bots.

    Args:
        sessions: sessions that started in the period.
        page_views: page views of these sessions.
        single: sessions with at most one page view.
        entries: entry pages: page, sessions; most sessions first.
        exits: exit pages: page, sessions; most sessions first.
        cut: whether there were more URLs than are read.
        bots_left: whether there were more bots than are excluded.
    """

    sessions: int
    page_views: int
    single: int
    entries: pl.DataFrame
    exits: pl.DataFrame
    cut: bool
    bots_left: bool


def visits(ask: Ask, scope: Scope) -> Visits:
    """Sessions that started in scope, with their entry and exit pages."""
    bots = _bots(ask)
    asked = _sessions(scope, bots[:BOTS])
    by_length = ask(Query(asked.table, ("page_views",), (Measure("sessions", "count"),), asked.where))
    length, sessions = pl.col("page_views"), pl.col("sessions")
    count, views, single = by_length.select(
        sessions.sum(),
        (length * sessions).sum().alias("views"),
        sessions.filter(length <= 1).sum().alias("single"),
    ).row(0)
    with_pages = asked.only("page_views", ">", 0)  # sessions of files alone have no entry page
    entries, exits = (_pages(ask, with_pages, column) for column in ("entry_url", "exit_url"))
    cut = _ADDRESSES in (entries.height, exits.height)
    return Visits(count, views, single, _top(entries), _top(exits), cut, len(bots) > BOTS)


def searches(ask: Ask, scope: Scope) -> pl.DataFrame:
    """Searches on the days of the period: query, searches, clicked, unclicked, click_through; most first."""
    query = Query("gold.search_performance", ("query",), sums("searches", "clicked_searches"))
    found = ask(
        scope.of_days(Query(query.table, query.columns, query.measures, (), ("-searches", "query"), 500))
    )
    return found.select(
        "query",
        "searches",
        pl.col("clicked_searches").alias("clicked"),
        (pl.col("searches") - pl.col("clicked_searches")).alias("unclicked"),
        (pl.col("clicked_searches") / pl.col("searches")).alias("click_through"),
    )


def funnel(ask: Ask, scope: Scope) -> pl.DataFrame:
    """The funnel: step, visitors (sum of daily visitors), share of the previous step; in step order."""
    found = ask(scope.of_days(Query("gold.funnel", ("step",), sums("visitors"))))
    steps = pl.DataFrame({"step": STEPS}).join(found, on="step", how="left", maintain_order="left")
    counted = steps.with_columns(pl.col("visitors").fill_null(0))
    before = pl.col("visitors").shift(1)
    return counted.with_columns(share=pl.when(before > 0).then(pl.col("visitors") / before))


def _bots(ask: Ask) -> list[str]:
    """Bots, those found last first: one more than are excluded, if there are more."""
    query = Query("silver.bots", ("visitor_id",), order=("-since", "visitor_id"), limit=BOTS + 1)
    return ask(query)["visitor_id"].to_list()


def _sessions(scope: Scope, bots: list[str]) -> Query:
    query = scope.within(Query("silver.sessions"), "started_at").one_of("channel", scope.channels)
    query = query.one_of("campaign_name", scope.campaigns)
    return query.only("visitor_id", "not in", tuple(sorted(bots))) if bots else query


def _pages(ask: Ask, asked: Query, column: str) -> pl.DataFrame:
    measures = (Measure("sessions", "count"),)
    found = ask(Query(asked.table, (column,), measures, asked.where, ("-sessions", column), _ADDRESSES))
    return found.rename({column: "page"})


def _top(pages: pl.DataFrame) -> pl.DataFrame:
    page = pl.col("page").str.replace(r"[?#].*$", "").str.replace(r"^https?://", "").fill_null("unknown")
    return (
        pages.group_by(page)
        .agg(pl.col("sessions").sum())
        .sort("sessions", "page", descending=[True, False])
        .head(_MOST)
    )
