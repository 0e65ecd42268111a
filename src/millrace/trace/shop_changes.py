"""Finds the changes of the shop's database behind rows."""

from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw

from folds.records.dimension_rules import load_dimension_rules
from lakehouse.contracts.daily import DIMENSION_PERFORMANCE
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.shop import CUSTOMERS, DIMENSIONS, ORDERS, PRODUCTS, REJECTED_CHANGES, SHOP_CHANGES
from lakehouse.settings import Settings
from lakehouse.timestamps import as_utc
from millrace.tables.table_scan import Row
from millrace.trace.history import History
from millrace.trace.row_events import bounds_of

CHANGES, REJECTED = SHOP_CHANGES.name, REJECTED_CHANGES.name
_VERSIONS = {
    "customer_version_id": CUSTOMERS.name,
    "product_version_id": PRODUCTS.name,
    "seen_version_id": PRODUCTS.name,
}
"""Columns of gold.conversion_items that name a version, and the dimension that has it."""


class RowChanges(NamedTuple):
    """Rows of silver.shop_changes behind rows.

    Args:
        counted: those of the commits that made the versions.
        context: the others of the same rows up to the end of the versions, and truncates of their tables;
            they say when a version began and ended, and which values the counted ones left unchanged.
    """

    counted: list[Row]
    context: list[Row]


def find_changes(history: History, table: str, rows: Sequence[Row], settings: Settings) -> RowChanges:
    """The changes that rows of a dimension, or of tables joined with one, are computed from."""
    if table == CONVERSION_ITEMS.name:
        versions = [each for column in _VERSIONS for each in _named(history, rows, column)]
    elif table == ORDER_COMPARISONS.name:
        orders = sorted({row["order_id"] for row in rows})
        versions = history.find(ORDERS.name, nw.col("order_id").is_in(orders))
    elif table == DIMENSION_PERFORMANCE.name:
        names = load_dimension_rules(settings.conf).of_customers
        of_customers = [row for row in rows if row["dimension"] in names]
        versions = [each for row in of_customers for each in _of_day(history, row, settings)]
    else:
        versions = list(rows) if table in DIMENSIONS else []
    if not versions:
        return RowChanges([], [])
    keys = sorted({row["row_key"] for row in versions})
    sent = history.find(CHANGES, nw.col("row_key").is_in(keys) | nw.col("row_key").is_null())
    counted = [row for row in sent if any(_made(row, version) for version in versions)]
    context = [row for row in sent if any(_before(row, version) for version in versions)]
    return RowChanges(counted, [row for row in context if row not in counted])


def _named(history: History, items: Sequence[Row], column: str) -> list[Row]:
    ids = sorted({row[column] for row in items} - {None})
    return history.find(_VERSIONS[column], nw.col("version_id").is_in(ids)) if ids else []


def _of_day(history: History, row: Row, settings: Settings) -> list[Row]:
    """Versions of the customers with a conversion on a day."""
    low, high, _ = bounds_of(row, settings.business_time_zone)
    converted = (nw.col("converted_at") >= low) & (nw.col("converted_at") < high)
    persons = sorted({each["person_id"] for each in history.find("gold.conversions", converted)} - {None})
    known = history.find(CUSTOMERS.name, nw.col("customer_id").is_in(persons))
    return [
        each
        for each in known
        if (each["valid_from"] is None or as_utc(each["valid_from"]) < high)
        and (each["valid_to"] is None or as_utc(each["valid_to"]) > low)
    ]


def _made(change: Row, version: Row) -> bool:
    return _is_of(change, version) and change["row_key"] is not None and change["lsn"] == version["lsn"]


def _before(change: Row, version: Row) -> bool:
    """Whether a change is of the version's row, and not after its end: times of commits may go back."""
    end = version["valid_to"]
    return _is_of(change, version) and (end is None or as_utc(change["committed_at"]) <= as_utc(end))


def _is_of(change: Row, version: Row) -> bool:
    return (
        change["source"] == version["source"]
        and change["source_table"] == version["source_table"]
        and change["row_key"] in (None, version["row_key"])
    )
