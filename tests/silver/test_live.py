"""Events in near real time, slightly out of order: most on time, some late, in hourly batches."""

import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import NOON, Bronze, Record, message, record
from kit.spark import empty_home

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
KINDS = ("Promotion Viewed", "Promotion Clicked", "Promotion Clicked", "Products Searched", "Product Clicked")
DELAYS = (timedelta(0), timedelta(0), 8 * MINUTE, 25 * MINUTE, 50 * MINUTE)
PAUSES = (timedelta(0), 4 * SECOND, 10 * SECOND, 40 * SECOND, 7 * MINUTE, 10 * MINUTE, 20 * MINUTE)
SPAN = 60 * MINUTE


def visits(chance: random.Random, visitors: int, steps: int) -> list[tuple[datetime, Record]]:
    """Records of a few hours, each with its time of arrival."""
    sent = []
    for visitor in range(visitors):
        at = NOON + chance.randrange(3600) * SECOND
        for step in range(steps):
            at += chance.choice(PAUSES)
            kind = chance.choice(KINDS)
            properties = {"promotion_id": "p"} if kind.startswith("Promotion") else {"query": f"q{step}"}
            if kind == "Product Clicked":
                properties = {"product_id": f"boot-{step}"} if chance.randrange(5) else {}
            uid = f"{chance.randrange(10**6)}-{visitor}-{step}"
            body = message(uid, f"v{visitor}", kind, at, properties=properties)
            sent.append((at + chance.choice(DELAYS), record(body)))
    return sent


def cut_by_arrival(sent: list[tuple[datetime, Record]]) -> list[list[Record]]:
    """The records by hour of arrival."""
    batches: dict[int, list[Record]] = {}
    for arrived, each in sent:
        batches.setdefault((arrived - NOON) // SPAN, []).append(each)
    return [batches[number] for number in sorted(batches)]


@pytest.mark.long
def test_hourly_batches_with_lagging_repair_match_oracle(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=1)  # one bronze commit a micro-batch
    bronze = Bronze(spark, settings)
    batches = cut_by_arrival(visits(random.Random(11), 60, 12))
    for number, records in enumerate(batches, 1):
        bronze.commit(records)
        if number in (1, 3) or number == len(batches):  # so that repair lags
            run_jobs(spark, settings, "refine", "repair")
    oracle = Oracle.over(bronze.stored)
    assert {row["outcome"] for row in oracle.impressions} == {"clicked", "unclicked", "open", "orphan"}
    assert {row["is_open"] for row in oracle.searches} == {True, False}
    assert_as_the_oracle(settings, oracle, "silver")
