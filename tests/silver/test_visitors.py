"""Identities, bots and rates by themselves, on frames of a few rows."""

import random
import re
from datetime import timedelta
from decimal import Decimal

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kit.records import NOON
from lakehouse.settings import load_settings
from silver.bots import merge_bots, named_bots, quick_bots
from silver.identities import identify_visitors, merge_identities
from silver.rates import merge_rates
from silver.rules.bots import load_bot_rules, too_quick_since

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def test_columns_find_the_bots_that_the_rule_finds(spark: SparkSession) -> None:
    chance = random.Random(3)
    times = {
        f"v{span}": [NOON + chance.random() * span * SECOND for _ in range(130)]
        for span in (0, 50, 60, 65, 70, 75, 80, 90, 120)
    }
    rows = [(visitor, at) for visitor, mine in times.items() for at in mine]
    frame = spark.createDataFrame(rows, "visitor_id string, event_time timestamp").coalesce(1)
    micros = F.unix_micros("since").alias("at")
    found = {row.visitor_id: row["at"] for row in quick_bots(frame).select("visitor_id", micros).collect()}
    wanted = {visitor: too_quick_since(mine) for visitor, mine in times.items()}
    assert found == {
        visitor: round(since.timestamp() * 1e6) for visitor, since in wanted.items() if since is not None
    }
    assert 2 <= len(found) < len(times)


def test_a_listed_name_counts_before_a_rate_of_the_same_time(spark: SparkSession) -> None:
    facts = "visitor_id string, reason string, since timestamp"
    known = spark.createDataFrame(
        [("tie", "rate", NOON), ("earlier", "rate", NOON), ("later", "user_agent", NOON)], facts
    ).coalesce(1)
    found = spark.createDataFrame(
        [
            ("tie", "user_agent", NOON),
            ("earlier", "user_agent", NOON + SECOND),
            ("later", "rate", NOON - SECOND),
        ],
        facts,
    ).coalesce(1)
    reasons = {row.visitor_id: row.reason for row in merge_bots(known, found).collect()}
    assert reasons == {"tie": "user_agent", "earlier": "rate", "later": "rate"}


def test_java_reads_the_list_as_python_does(spark: SparkSession) -> None:
    rules = load_bot_rules(load_settings().conf)
    agents = [
        "Googlebot/2.1",
        "CUBOT",
        "cubot/1",
        "fast SPIDER",
        "K\u212aelvin crawl\u212aer",
        "",
        "robot",
        None,
    ]
    rows = [(str(number), agent, NOON) for number, agent in enumerate(agents)]
    columns = "visitor_id string, user_agent string, event_time timestamp"
    found = named_bots(spark.createDataFrame(rows, columns).coalesce(1), rules).collect()
    assert sorted(row.visitor_id for row in found) == [
        str(number)
        for number, agent in enumerate(agents)
        if agent and re.search(rules.pattern, agent, re.ASCII)
    ]


def test_of_two_names_at_once_the_greater_uid_decides(spark: SparkSession) -> None:
    columns = "visitor_id string, user_id string, event_time timestamp, event_id string"
    events = [("v", "x", NOON, "b"), ("v", "y", NOON, "a"), ("v", None, NOON + SECOND, "c")]
    late = [("v", "z", NOON - SECOND, "d"), ("w", None, NOON, "e")]
    known, found = (
        identify_visitors(spark.createDataFrame(rows, columns).coalesce(1)) for rows in (events, late)
    )
    (row,) = merge_identities(known, found).collect()
    assert (row.visitor_id, row.user_id, row.event_id, row.user_ids) == ("v", "x", "b", ["x", "y", "z"])


def test_a_rate_holds_until_the_next_and_the_later_in_bronze_counts(spark: SparkSession) -> None:
    place = "ingested_at timestamp, topic string, partition int, offset bigint"
    accepted = f"currency string, valid_from timestamp, rate decimal(19,10), {place}"
    stored = (
        "currency string, valid_from timestamp, valid_to timestamp, records bigint, rate decimal(19,10), "
        + place
    )
    known = [("USD", NOON, None, 2, Decimal("0.9"), NOON, "t", 1, 5)]
    new = [
        ("USD", NOON, Decimal("0.8"), NOON, "t", 1, 4),
        ("USD", NOON + HOUR, Decimal("0.7"), NOON + SECOND, "t", 0, 1),
        ("USD", NOON + HOUR, Decimal("0.6"), NOON + SECOND, "t", 0, 0),
        ("GBP", NOON + HOUR, Decimal("1.1"), NOON + SECOND, "t", 0, 2),
    ]
    merged = merge_rates(
        spark.createDataFrame(known, stored).coalesce(1), spark.createDataFrame(new, accepted).coalesce(1)
    )
    rows = merged.orderBy("currency", "valid_from").collect()
    told = [(row.currency, float(row.rate), row.records, row.valid_to is None, row.offset) for row in rows]
    assert told == [("GBP", 1.1, 1, True, 2), ("USD", 0.9, 3, False, 5), ("USD", 0.7, 2, True, 1)]
    assert rows[1].valid_to == rows[2].valid_from
