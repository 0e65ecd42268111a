"""Which conversions a micro-batch may change."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.near import Near
from gold.rates import rated_by
from gold.rules.models import LOOK_BACK
from gold.spans import inside
from gold.view import View
from lakehouse.frames import settle


def due_conversions(
    published: DataFrame, reached: DataFrame, touched: DataFrame, near: Near, view: View
) -> DataFrame:
    """Conversions that may be others now.

    Those whose goal was reached; whose session may be another; whose person has other touches, or is another;
    of bots; whose rate came; and what shares an order with one of these.

    Args:
        published: gold.conversions as it stands.
        reached: conversion_id and order_id of the goals near the new events.
        touched: person_id and touched_at of touches that came or went.
        near: what lies near the new events.
        view: what silver knows.

    Returns:
        conversion_id, each once; some may stand no longer.
    """
    hits = [
        inside(published.where(near.stretch.holds("converted_at")), "converted_at", near.spans),
        _led_by(published, touched),
    ]
    if "renamed" in view.news:
        hits += _of_others(published, view)
    if "new_bots" in view.news:
        hits.append(published.join(F.broadcast(view.new_bots), "visitor_id", "left_semi"))
    if "new_rates" in view.news:
        hits.append(rated_by(published, view.new_rates))
    rows = [reached, *hits]
    direct = reduce(DataFrame.unionByName, (each.select("conversion_id", "order_id") for each in rows))
    found = settle(direct.distinct())
    orders = F.broadcast(found.where(F.col("order_id").isNotNull()).select("order_id").distinct())
    shared = published.join(orders, "order_id", "left_semi").select("conversion_id")
    return found.select("conversion_id").unionByName(shared).distinct()


def _led_by(published: DataFrame, touched: DataFrame) -> DataFrame:
    moments = F.broadcast(touched.select("person_id", F.col("touched_at").alias("_at")).distinct())
    later = (F.col("converted_at") >= F.col("_at")) & (
        F.col("converted_at") <= F.col("_at") + F.lit(LOOK_BACK)
    )
    same = F.col("p.person_id") == F.col("m.person_id")
    return published.alias("p").join(moments.alias("m"), same & later, "left_semi")


def _of_others(published: DataFrame, view: View) -> list[DataFrame]:
    """Of visitors who were taken for somebody else, and of whoever they were or are taken for."""
    renamed = view.renamed
    persons = renamed.select(F.explode("user_ids").alias("person_id"))
    persons = persons.unionByName(renamed.select(F.col("visitor_id").alias("person_id"))).distinct()
    return [
        published.join(F.broadcast(renamed.select("visitor_id")), "visitor_id", "left_semi"),
        published.join(F.broadcast(persons), "person_id", "left_semi"),
    ]
