"""Rows of gold.conversion_items: joins of conversions with versions as of their time."""

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.rows.semi_join import semi_join

_PRODUCTS = "products array<struct<product_id: string, quantity: string>>"
_SEEN = ("impression", "view")
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

    Args:
        conversions: rows of gold.conversions.
        trails: at least the rows of gold.trails of these conversions.
        events: at least the rows of silver.events of these conversions.
        known: all versions.
    """
    seen = trails.where(F.col("kind").isin(*_SEEN)).groupBy("conversion_id").agg(F.max("at").alias("seen_at"))
    lines = _lines(conversions.select(*_CONVERSION), events).join(seen, "conversion_id", "left")
    customers = known.customers.select(
        F.col("customer_id").alias("person_id"),
        F.col("version_id").alias("customer_version_id"),
        *("plan", "country"),
        *_period(),
    )
    products = known.products.select(
        *("product_id", "category", "price", "cost", "currency"),
        F.col("version_id").alias("product_version_id"),
        *_period(),
    )
    shown = known.products.select(
        "product_id",
        F.col("version_id").alias("seen_version_id"),
        F.col("price").alias("seen_price"),
        *_period(),
    )
    rows = _as_of(lines, customers, "person_id", "converted_at")
    rows = _as_of(rows, products, "product_id", "converted_at")
    rows = _as_of(rows, shown, "product_id", "seen_at")
    is_known = F.coalesce("customer_version_id", "product_version_id").isNotNull()
    margin = (F.col("price") - F.col("cost")).cast("decimal(18,4)")
    return rows.where(is_known).withColumn("margin", margin).select(*CONVERSION_ITEMS.column_names)


def _lines(conversions: DataFrame, events: DataFrame) -> DataFrame:
    """Conversions with the products of their events: one row each, or one without a product."""
    sent = semi_join(events.select("event_id", "properties"), conversions, "event_id")
    listed = F.from_json("properties", _PRODUCTS)["products"]
    named = F.filter(listed, lambda each: each["product_id"].isNotNull())
    products = sent.select("event_id", F.posexplode(named).alias("place", "product"))
    found = conversions.join(products, "event_id", "left")
    return found.select(
        *("conversion_id", "converted_at", "person_id"),
        F.coalesce(F.col("place") + 1, F.lit(0)).alias("line"),
        F.col("product.product_id").alias("product_id"),
        F.expr("TRY_CAST(product.quantity AS BIGINT)").alias("quantity"),
    )


def _period() -> list[Column]:
    order = F.struct("source", "source_table", "row_key", "version_id")
    return [order.alias("_order"), F.col("valid_from").alias("_from"), F.col("valid_to").alias("_to")]


def _as_of(rows: DataFrame, versions: DataFrame, key: str, time: str) -> DataFrame:
    """Rows with the version of a key at a time; of several rows with this key, the first one's."""
    versions = versions.withColumnRenamed(key, "_key")
    at = rows[time]
    is_valid = (versions["_from"].isNull() | (versions["_from"] <= at)) & (
        versions["_to"].isNull() | (at < versions["_to"])
    )
    found = rows.join(versions, (rows[key] == versions["_key"]) & at.isNotNull() & is_valid, "left")
    first = F.row_number().over(Window.partitionBy("conversion_id", "line").orderBy("_order"))
    return (
        found.withColumn("_first", first).where("_first = 1").drop("_first", "_order", "_from", "_to", "_key")
    )
