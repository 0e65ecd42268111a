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
HOUR = 60


def traffic(spark: SparkSession) -> DataFrame:
    """Events of many visitors, most of whom come once or twice in two hours."""
    chance = random.Random(11)
    rows = [
        (
            f"v{chance.randrange(60)}",
            f"e{number}",
            NOON + number * 2 * HOUR / 200 * MINUTE,
            chance.choice(ROLES),
        )
        for number in range(200)
    ]
    events = spark.createDataFrame(
        rows, "visitor_id string, event_id string, event_time timestamp, role string"
    )
    texts = {name: F.concat(F.lit(f"{name} "), "event_id") for name in TEXTS}
    same = {"type": F.lit("page"), "promotion_id": F.lit("p")}
    return settle(events.coalesce(1).withColumns(texts | same))


@pytest.mark.parametrize("table", GROWING, ids=lambda table: table.name)
def test_rows_without_new_pieces_come_to_the_same_as_if_taken_apart(
    spark: SparkSession, table: Growing
) -> None:
    events, reached = traffic(spark), NOON
    standing: DataFrame | None = None
    closed_alone = set[str]()
    for minutes in (20, 40, 60, 80, 100, 120):
        between = (F.col("event_time") >= F.lit(reached)) & (
            F.col("event_time") < F.lit(NOON + minutes * MINUTE)
        )
        pieces = settle(table.to_pieces(events.where(between)))
        reached = NOON + minutes * MINUTE
        watermark = reached - 10 * MINUTE
        if standing is None:
            advanced = table.grow(table_of(spark, table), pieces, watermark)
        else:
            advanced = settle(table.advance(standing.where("is_open"), pieces, watermark))
            apart = table.grow(standing.where("is_open"), pieces, watermark)
            assert sorted(map(repr, advanced.collect())) == sorted(map(repr, apart.collect()))
        now_closed = {row[0] for row in advanced.where("NOT is_open").select(key_of(table)).collect()}
        untouched = advanced.join(pieces, "visitor_id", "left_anti")
        closed_alone |= {row[0] for row in untouched.select(key_of(table)).collect()} & now_closed
        standing = advanced
    assert closed_alone, "no row was ever closed without new pieces"


def key_of(table: Growing) -> str:
    return "session_id" if table.name == "silver.sessions" else "event_id"


def table_of(spark: SparkSession, table: Growing) -> DataFrame:
    """The table without a row."""
    return spark.createDataFrame([], TABLES[table.name].ddl)
