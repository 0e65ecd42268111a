"""Rows of gold.order_comparisons: orders of events joined with orders of the shop."""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.orders import (
    NO_EVENT,
    NOT_IN_SHOP,
    ORDER_COMPARISONS,
    OTHER_CURRENCY,
    OTHER_VALUE,
    SEVERAL,
)


def order_rows(events: DataFrame, versions: DataFrame, goals: Collection[str], zone: str) -> DataFrame:
    """Compare orders; not computed yet.

    Args:
        events: at least the goals of these orders, of silver.events.
        versions: at least all versions of these orders, of silver.orders.
        goals: goals that are orders.
        zone: the business time zone.
    """
    joined = _of_events(events, goals).join(_of_shop(versions), "order_id", "full")
    has_event, has_shop = F.col("events").isNotNull(), F.col("shop_version_id").isNotNull()
    is_older = ~has_event & F.coalesce("was_in_snapshot", F.lit(False))
    ordered_at = F.coalesce("web_at", "shop_at")
    found = joined.where(has_event | has_shop).withColumns(
        {
            "order_hash": F.left(F.sha2("order_id", 256), F.lit(32)),
            "ordered_at": ordered_at,
            "day": F.to_date(F.from_utc_timestamp(ordered_at, zone)),
            "person_id": F.coalesce("customer_id", "user_id"),
            "is_older": is_older,
            "difference": F.when(~is_older, _difference(has_event, has_shop)),
        }
    )
    return found.select(*ORDER_COMPARISONS.column_names)


def order_events(events: DataFrame, goals: Collection[str]) -> DataFrame:
    """Rows of silver.events that are orders with an id."""
    return events.where(F.col("goal").isin(*goals) & F.col("order_id").isNotNull())


def _of_events(events: DataFrame, goals: Collection[str]) -> DataFrame:
    first = F.struct("event_time", "event_id")
    return (
        order_events(events, goals)
        .groupBy("order_id")
        .agg(
            F.count("*").alias("events"),
            F.min("event_time").alias("web_at"),
            F.min_by("value", first).alias("value"),
            F.min_by("currency", first).alias("currency"),
            F.min_by("user_id", first).alias("user_id"),
        )
    )


def _of_shop(versions: DataFrame) -> DataFrame:
    """The current row of each order, and since when there has been one; of several rows, the first one's."""
    is_current = F.col("valid_to").isNull()
    place = F.struct(~is_current, "source", "source_table", "row_key")
    current = {
        "customer_id": "customer_id",
        "shop_value": "value",
        "shop_currency": "currency",
        "status": "status",
        "shop_version_id": "version_id",
    }
    return (
        versions.where("order_id IS NOT NULL")
        .groupBy("order_id")
        .agg(
            *(F.min_by(F.when(is_current, F.col(of)), place).alias(name) for name, of in current.items()),
            F.min(F.coalesce("valid_from", "changed_at")).alias("shop_at"),
            F.bool_or(F.col("valid_from").isNull()).alias("was_in_snapshot"),
        )
    )


def _difference(has_event: Column, has_shop: Column) -> Column:
    return (
        F.when(~has_event, NO_EVENT)
        .when(~has_shop, NOT_IN_SHOP)
        .when(F.col("events") > 1, SEVERAL)
        .when(~F.upper("currency").eqNullSafe(F.upper("shop_currency")), OTHER_CURRENCY)
        .when(~F.col("value").eqNullSafe(F.col("shop_value")), OTHER_VALUE)
    )
