"""Rows of gold.visitor_timeline: events, and versions of the customers that visitors are."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.timeline import BUCKETS, CUSTOMER, EVENT, ORDER, VISITOR_TIMELINE

_TYPES = {column.name: column.type for column in VISITOR_TIMELINE.columns}


def event_rows(events: DataFrame) -> DataFrame:
    """Rows of events; not computed yet."""
    return _rows(
        events,
        EVENT,
        entry_id="event_id",
        at="event_time",
        role="role",
        name="coalesce(name, type)",
        url="url",
        user_id="user_id",
        order_id="order_id",
        value="value",
        currency="currency",
    )


def version_rows(identities: DataFrame, customers: DataFrame, orders: DataFrame) -> DataFrame:
    """Rows of the versions of the customers that visitors have been, and of their orders; not computed yet.

    Args:
        identities: rows of silver.identities.
        customers: at least the versions of these users, of silver.customers.
        orders: at least the versions of the orders of these users, of silver.orders.
    """
    users = identities.select("visitor_id", F.col("user_id").alias("customer_id")).distinct()
    common = {"entry_id": "version_id", "at": "coalesce(valid_from, changed_at)", "valid_to": "valid_to"}
    of_customers = _rows(
        customers.join(users, "customer_id"), CUSTOMER, **common, name="plan", user_id="customer_id"
    )
    of_orders = _rows(
        orders.join(users, "customer_id"),
        ORDER,
        **common,
        name="status",
        user_id="customer_id",
        order_id="order_id",
        value="value",
        currency="currency",
    )
    return of_customers.union(of_orders)


def _rows(rows: DataFrame, kind: str, **columns: str) -> DataFrame:
    values = {
        "bucket": f"crc32(visitor_id) % {BUCKETS}",
        "visitor_id": "visitor_id",
        "kind": f"'{kind}'",
        **columns,
    }
    return rows.selectExpr(
        *(f"CAST({values.get(name, 'NULL')} AS {type_}) AS {name}" for name, type_ in _TYPES.items())
    )
