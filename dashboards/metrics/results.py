"""Search results by rank: impressions and clicks."""

import polars as pl
from query_scope import Scope
from tables.query import Query, sums
from tables.table_cache import Ask

_MOST = 500  # queries to choose from
_TABLE = "gold.result_performance"


def by_rank(ask: Ask, scope: Scope, query: str | None) -> pl.DataFrame:
    """Results of searches on the days of the period.

    Args:
        ask: runs queries.
        scope: the period. Channels and campaigns are ignored.
        query: the search terms; None for all searches.

    Returns:
        rank, shown, clicked, click_through; in order of rank.
    """
    asked = scope.of_days(Query(_TABLE, ("rank",), sums("shown", "clicked"), order=("rank",)))
    found = ask(asked if query is None else asked.only("query", "=", query))
    return found.with_columns(click_through=pl.col("clicked") / pl.col("shown"))


def shown_queries(ask: Ask, scope: Scope) -> list[str]:
    """Search terms with results, most results shown first."""
    order = ("-shown", "query")
    asked = Query(_TABLE, ("query",), sums("shown"), order=order, limit=_MOST).only("query", "not null")
    return ask(scope.of_days(asked))["query"].to_list()
