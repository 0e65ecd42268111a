"""The timeline of a visitor: its events, and the changes of its customer and orders in the shop."""

import polars as pl
from tables.query import Query
from tables.table_cache import Ask

from lakehouse.contracts.timeline import bucket_of

_COLUMNS = (
    *("at", "kind", "role", "name", "url", "user_id", "order_id", "value", "currency", "valid_to"),
    "entry_id",
)
_MOST = 1000


def timeline(ask: Ask, visitor_id: str, is_masked: bool) -> pl.DataFrame:
    """The latest 1,000 entries of a visitor, in order.

    Args:
        ask: runs queries.
        visitor_id: the visitor, as the viewer sees it.
        is_masked: whether this may be a hash, from which the bucket does not follow.
    """
    query = Query("gold.visitor_timeline", _COLUMNS, order=("-at", "-entry_id"), limit=_MOST)
    query = query.only("visitor_id", "=", visitor_id)
    return ask(query if is_masked else query.only("bucket", "=", bucket_of(visitor_id))).reverse()
