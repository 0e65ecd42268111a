"""Rows that grow, by themselves: few pieces among many rows come to the same as all taken apart."""

import random
from datetime import timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kit.records import NOON
from lakehouse.contracts import TABLES
from lakehouse.frames import settle
from silver.growing import GROWING, Growing
from silver.rules.offers import IMPRESSIONS, SEARCHES

MINUTE = timedelta(minutes=1)
ROLES = sorted({rule for each in (IMPRESSIONS, SEARCHES) for rule in (each.offer, each.click)})
TEXTS = (
    "url", "referrer", "campaign_source", "campaign_medium", "campaign_name", "channel", "rules_version",
    "query", "product_id",
)  # fmt: skip


def traffic(spark: SparkSession) -> DataFrame:
    """Events of many visitors, most of whom come once or twice in two hours."""
    chance = random.Random(11)
    rows = [
        (f"v{chance.randrange(60)}", f"e{number}", NOON + number * 0.6 * MINUTE, chance.choice(ROLES))
        for number in range(200)
    ]
    columns = "visitor_id string, event_id string, event_time timestamp, role string"
    events = spark.createDataFrame(rows, columns)
    texts = {name: F.concat(F.lit(f"{name} "), "event_id") for name in TEXTS}
    same = {"type": F.lit("page"), "promotion_id": F.lit("p")}
    return settle(events.coalesce(1).withColumns(texts | same))


@pytest.mark.parametrize("table", GROWING, ids=lambda table: table.name)
def test_rows_without_new_pieces_come_to_the_same_as_if_taken_apart(
    spark: SparkSession, table: Growing
) -> None:
    events, reached, closed_alone = traffic(spark), NOON, 0
    standing = spark.createDataFrame([], TABLES[table.name].ddl)
    for minutes in (20, 40, 60, 80, 100, 120):
        until = NOON + minutes * MINUTE
        since = (F.col("event_time") >= F.lit(reached)) & (F.col("event_time") < F.lit(until))
        pieces = settle(table.to_pieces(events.where(since)))
        reached, watermark = until, until - 10 * MINUTE
        advanced = settle(table.advance(standing, pieces, watermark))
        apart = table.grow(standing, pieces, watermark)
        assert sorted(map(repr, advanced.collect())) == sorted(map(repr, apart.collect()))
        closed = advanced.where("NOT is_open")
        closed_alone += closed.join(pieces, "visitor_id", "left_anti").count()
        standing = advanced.where("is_open")
    assert closed_alone > 0
