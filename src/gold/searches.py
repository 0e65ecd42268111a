"""Searches: what was looked for, and whether something was found, by day."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gold.days import Days

_TOP = 10


def measure_searches(searches: DataFrame, days: Days) -> DataFrame:
    """What queries come to.

    Args:
        searches: silver.searches of these days; orphans do not count.
        days: which.

    Returns:
        gold.search_performance; a search without words is of query null.
    """
    made = searches.where("outcome <> 'orphan'").withColumn("day", days.day_of("event_time"))
    counted = made.groupBy("day", "query").agg(
        F.count("*").alias("searches"),
        F.count_if(F.col("clicks") > 0).alias("clicked_searches"),
    )
    clicked = made.select("day", "query", F.explode("clicked_products").alias("product_id"))
    by_product = clicked.groupBy("day", "query", "product_id").agg(F.count("*").alias("clicks"))
    order = Window.partitionBy("day", "query").orderBy(F.desc("clicks"), "product_id")
    ranked = by_product.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= _TOP)
    listed = F.sort_array(F.collect_list(F.struct("rank", "product_id", "clicks")))
    top = ranked.groupBy("day", "query").agg(
        F.transform(listed, lambda each: F.struct(each["product_id"], each["clicks"])).alias("_top")
    )
    same = counted["day"].eqNullSafe(top["day"]) & counted["query"].eqNullSafe(top["query"])
    none = F.array().cast("array<struct<product_id: string, clicks: bigint>>")
    return counted.join(top.select(top["day"], top["query"], "_top"), same, "left").select(
        counted["day"],
        counted["query"],
        "searches",
        "clicked_searches",
        (F.col("clicked_searches") / F.col("searches")).alias("click_through"),
        F.coalesce("_top", none).alias("top_products"),
    )
