"""Search results by rank: how often they were shown, and how often clicked."""

import polars as pl
from query_scope import Scope
from tables.query import Query, sums
from tables.table_cache import Ask

_MOST = 500  # queries to choose from
_TABLE = "gold.result_performance"


def by_rank(ask: Ask, scope: Scope, query: str | None) -> pl.DataFrame:
    """Results of searches on the days of the period.

    Args:
        ask: the tables.
        scope: its days count; all channels and campaigns do.
        query: words searched for; all searches if there are none.

    Returns:
        rank, shown, clicked, click_through; in order of rank.
    """
    asked = scope.of_days(Query(_TABLE, ("rank",), sums("shown", "clicked"), order=("rank",)))
    found = ask(asked if query is None else asked.only("query", "=", query))
    return found.with_columns(click_through=pl.col("clicked") / pl.col("shown"))


def shown_queries(ask: Ask, scope: Scope) -> list[str]:
    """Words searched for that results were shown of, those with the most results first."""
    order = ("-shown", "query")
    asked = Query(_TABLE, ("query",), sums("shown"), order=order, limit=_MOST).only("query", "not null")
    return ask(scope.of_days(asked))["query"].to_list()
