"""The list of latest conversions."""

import polars as pl
from query_scope import Scope
from tables.query import Query
from tables.table_cache import Ask

from metrics.traffic import EARLY

_LATEST = 50  # rows shown
_LOOKED_AT = 2000  # rows read, if they are filtered by a struct field afterwards
_SHOWN = (
    "conversion_id",
    "converted_at",
    "goal",
    "order_id",
    "person_id",
    "value",
    "currency",
    "reporting_value",
    "touches",
    "is_final",
)


def latest_conversions(ask: Ask, scope: Scope) -> pl.DataFrame:
    """The latest conversions of the period, newest first.

    Channels filter by the channel of the visit; without one, by that of the last touch.
    """
    order = ("-converted_at", "conversion_id")
    visit = ("visit", "traffic_channel") if scope.channels else ()
    limit = _LOOKED_AT if scope.channels else _LATEST
    found = ask(
        scope.within(Query("gold.conversions", (*_SHOWN, *visit), order=order, limit=limit), "converted_at")
    )
    if scope.channels:
        channel = pl.coalesce(pl.col("visit").struct.field("channel"), "traffic_channel")
        found = found.filter(channel.is_in(scope.channels)).head(_LATEST)
    state = pl.when("is_final").then(pl.lit("final")).otherwise(pl.lit(EARLY)).alias("state")
    return found.select(*_SHOWN[:-1], state)
