"""Orders of events against orders of the shop's database."""

from dataclasses import dataclass

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query
from tables.table_cache import Ask

DIFFERENCES = {
    "no event": "The shop has it, and no event was sent: a blocker, or a page that was left too early.",
    "several events": "Sent more than once with different ids: a page that was loaded again.",
    "other value": "The value of the first event is not the shop's: taxes, shipping, a later change.",
    "other currency": "The currency of the first event is not the shop's.",
    "not in the shop": "An event has it, and the shop has not: a test, a deleted order, or still on its way.",
}
"""How an order may differ, and what usually is behind it."""

_TABLE = "gold.order_comparisons"
NEEDED = tuple(f"{_TABLE}.{name}" for name in ("day", "is_older", "difference"))
"""The columns that orders are counted by."""

_MOST = 5000  # orders that are listed
_COLUMNS = (
    *("ordered_at", "order_id", "difference", "events", "value", "currency"),
    *("shop_value", "shop_currency", "status"),
)


@dataclass(frozen=True)
class Orders:
    """Orders on the days of a period.

    Args:
        compared: their number.
        older: orders of the first snapshot without an event, which are not compared.
        by_difference: difference, orders; all differences.
        daily: day, difference, orders, share (of the orders of the day).
        different: the latest 5,000 orders that differ.
    """

    compared: int
    older: int
    by_difference: pl.DataFrame
    daily: pl.DataFrame
    different: pl.DataFrame


def orders(ask: Ask, scope: Scope) -> Orders:
    """Compare the orders on the days of the period."""
    query = scope.of_days(Query(_TABLE, ("day", "difference"), (Measure("orders", "count"),)))
    counted = ask(query.only("is_older", "=", False))
    older = ask(scope.of_days(Query(_TABLE, (), (Measure("orders", "count"),))).only("is_older", "=", True))
    listed = scope.of_days(Query(_TABLE, _COLUMNS, order=("-ordered_at", "order_id"), limit=_MOST))
    names = pl.DataFrame({"difference": list(DIFFERENCES)})
    summed = counted.group_by("difference").agg(pl.col("orders").sum())
    by_difference = names.join(summed, "difference", "left", maintain_order="left")
    return Orders(
        compared=int(counted["orders"].sum()),
        older=int(older["orders"].sum()),
        by_difference=by_difference.with_columns(pl.col("orders").fill_null(0)),
        daily=_daily(counted, names),
        different=ask(listed.only("difference", "not null")),
    )


def _daily(counted: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Every difference on every day that has orders."""
    days = counted.group_by("day").agg(pl.col("orders").sum().alias("of"))
    rows = days.join(names, how="cross").join(counted, on=("day", "difference"), how="left")
    filled = rows.with_columns(pl.col("orders").fill_null(0))
    return filled.with_columns(share=pl.col("orders") / pl.col("of")).sort("day", "difference").drop("of")
