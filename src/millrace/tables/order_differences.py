"""Orders of events compared with orders of the shop's database, one by one."""

from typing import NamedTuple

import polars as pl

from folds.persons.refunds import load_order_rules
from lakehouse.access.role import Role
from lakehouse.contracts.shop import ORDERS
from lakehouse.contracts.silver import EVENTS
from lakehouse.settings import Settings
from millrace.tables.recorded_query import run_recorded
from millrace.tables.table_reader import open_table

_COMPARED = f"""
    WITH web AS (
        SELECT order_id, count(*) AS events, arg_min(value, (event_time, event_id)) AS web_value,
            arg_min(currency, (event_time, event_id)) AS web_currency
        FROM {EVENTS.name} WHERE order_id IS NOT NULL AND goal IN ({{goals}}) GROUP BY order_id
    ),
    shop AS (
        SELECT order_id, status, value AS shop_value, currency AS shop_currency, valid_from
        FROM {ORDERS.name} WHERE valid_to IS NULL
    )
    SELECT coalesce(web.order_id, shop.order_id) AS order_id,
        CASE
            WHEN web.order_id IS NULL AND valid_from IS NULL THEN 'older than the capture'
            WHEN web.order_id IS NULL THEN 'no event'
            WHEN shop.order_id IS NULL THEN 'not in the shop'
            WHEN events > 1 THEN 'several events'
            WHEN web_currency IS DISTINCT FROM shop_currency THEN 'other currency'
            WHEN web_value IS DISTINCT FROM shop_value THEN 'other value'
        END AS difference,
        events, web_value, web_currency, shop_value, shop_currency, status
    FROM web FULL JOIN shop ON web.order_id = shop.order_id
    ORDER BY difference, order_id
"""
_OLDER = "older than the capture"


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
    """Compare all orders; None before the first order of the shop."""
    if open_table(settings, ORDERS.name) is None or open_table(settings, EVENTS.name) is None:
        return None
    goals = ", ".join(
        f"'{goal.replace(chr(39), chr(39) * 2)}'" for goal in load_order_rules(settings.conf).orders
    )
    rows = run_recorded(settings, _COMPARED.format(goals=goals), role)
    older = rows.filter(pl.col("difference") == _OLDER)
    different = rows.filter(pl.col("difference").is_not_null() & (pl.col("difference") != _OLDER))
    return OrderReport(len(rows) - len(older), len(older), different)
