"""Rows of gold.conversion_items: joins of conversions with versions as of their time."""

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.as_of import as_of, period
from gold.items.order_lines import order_lines
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.rows.semi_join import semi_join

_SEEN = ("impression", "view")
_LINE = ("conversion_id", "line")
_CONVERSION = ("conversion_id", "event_id", "converted_at", "person_id")


class Versions(NamedTuple):
    """Dimensions.

    Args:
        customers: silver.customers.
        products: silver.products.
    """

    customers: DataFrame
    products: DataFrame


def item_rows(conversions: DataFrame, trails: DataFrame, events: DataFrame, known: Versions) -> DataFrame:
    """The items of some conversions: those whose customer or product has a version; not computed yet.

    Refunds and cancellations have none: they are money alone, and nothing was sold.

    Args:
        conversions: rows of gold.conversions.
        trails: at least the rows of gold.trails of these conversions.
        events: at least the rows of silver.events of these conversions.
        known: all versions.
    """
    seen = trails.where(F.col("kind").isin(*_SEEN)).groupBy("conversion_id").agg(F.max("at").alias("seen_at"))
    counted = conversions.where("is_counted IS NOT FALSE").select(*_CONVERSION)
    lines = _lines(counted, events).join(seen, "conversion_id", "left")
    customers = known.customers.select(
        F.col("customer_id").alias("person_id"),
        F.col("version_id").alias("customer_version_id"),
        *("plan", "country"),
        *period(),
    )
    products = known.products.select(
        *("product_id", "category", "price", "cost", "currency"),
        F.col("version_id").alias("product_version_id"),
        *period(),
    )
    shown = known.products.select(
        "product_id",
        F.col("version_id").alias("seen_version_id"),
        F.col("price").alias("seen_price"),
        *period(),
    )
    rows = as_of(lines, customers, "person_id", "converted_at", _LINE)
    rows = as_of(rows, products, "product_id", "converted_at", _LINE)
    rows = as_of(rows, shown, "product_id", "seen_at", _LINE)
    is_known = F.coalesce("customer_version_id", "product_version_id").isNotNull()
    margin = (F.col("price") - F.col("cost")).try_cast("decimal(18,4)")
    return rows.where(is_known).withColumn("margin", margin).select(*CONVERSION_ITEMS.column_names)


def _lines(conversions: DataFrame, events: DataFrame) -> DataFrame:
    """Conversions with the products of their events: one row each, or one without a product."""
    goals = events.where("goal IS NOT NULL").select("event_id", "properties")
    sent = semi_join(goals, conversions, "event_id")
    found = conversions.join(order_lines(sent), "event_id", "left")
    return found.select(
        *("conversion_id", "converted_at", "person_id"),
        F.coalesce("line", F.lit(0)).alias("line"),
        "product_id",
        F.expr("TRY_CAST(quantity AS BIGINT)").alias("quantity"),
    )
