"""Orders in which events and the shop's database differ, as gold.order_comparisons has them."""

from typing import NamedTuple

import polars as pl

from lakehouse.access.role import Role
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.settings import Settings
from millrace.tables.duckdb_views import table_exists
from millrace.tables.recorded_query import run_recorded

_COMPARED = f"""
    SELECT order_id, difference, events, value, currency, shop_value, shop_currency, status, is_older
    FROM {ORDER_COMPARISONS.name} ORDER BY difference, order_id
"""


class OrderReport(NamedTuple):
    """Orders of events and of the shop.

    Attributes:
        compared: number of orders that either has, without older ones.
        older: number of orders of the first snapshot that have no event.
        different: order_id, difference, events, and value, currency and status of both.
    """

    compared: int
    older: int
    different: pl.DataFrame


def order_report(settings: Settings, role: Role | None = None) -> OrderReport | None:
    """The comparison of all orders; None before the first order of the shop."""
    if not table_exists(settings, ORDER_COMPARISONS.name):
        return None
    rows = run_recorded(settings, _COMPARED, role)
    if rows.is_empty():
        return None
    older = rows.filter("is_older")
    different = rows.filter(pl.col("difference").is_not_null()).drop("is_older")
    return OrderReport(len(rows) - len(older), len(older), different)
