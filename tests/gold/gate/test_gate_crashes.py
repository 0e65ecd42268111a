"""Publish that dies between evaluating silver and its last commit to gold: gate and gold agree."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kit.dying import dying_at
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.planted import rates, shop
from kit.records import NOON, Bronze, Record, Stored, message, record
from kit.strict_gate import (
    facts_of_gold,
    facts_wanted,
    publish_is_held,
    release,
    strict_home,
    without_number,
)
from lakehouse.settings import Settings

GOLD = ("gold.visitor_minutes", "gold.attribution", "gold.trails", "gold.conversions", "gold.touches")
PUBLISHING = (GOLD, *((name,) for name in (*GOLD, "ops.ledger")))
"""A crash at the first written table leaves gold unchanged, one at a later table leaves it partly written."""

CLOSING = (("ops.gates",), ("ops.expectations",))


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path) -> Iterator[Settings]:
    with strict_home(spark, tmp_path) as settings:
        yield settings


def by_visitors_of(records: list[Record], name: str, other: str) -> list[Record]:
    """The same records, sent by the visitors of another shop, who came just before."""
    reported = [json.loads(each.value or b"{}") for each in records]
    for body in reported:
        body["anonymousId"] = body["anonymousId"].replace(f"v-{name}-", f"v-{other}-")
    return [
        replace(each, value=json.dumps(body).encode()) for each, body in zip(records, reported, strict=True)
    ]


def versions_of_gold(settings: Settings) -> dict[str, int]:
    """By table with rows: its last commit."""
    folders = [log.parent for log in (settings.warehouse / "gold").glob("*/_delta_log")]
    versions = {folder.name: DeltaTable(folder).version() for folder in folders}
    return {name: version for name, version in versions.items() if version > 0}


NEXT = NOON + timedelta(hours=3)
LATE_VISIT = record(
    message(
        "visit",
        "late",
        at=NOON - timedelta(days=2),
        context={"page": {"url": "https://shop.example/?utm_source=search&utm_medium=cpc"}},
    )
)


def bronze_with_order(spark: SparkSession, settings: Settings) -> Bronze:
    """Bronze with an order of the visitor of `LATE_VISIT` and others, which all jobs have processed."""
    bronze, bought = Bronze(spark, settings), {"order_id": "o-late", "total": 10, "currency": "EUR"}
    order = message("order", "late", "Order Completed", NOON, properties=bought)
    bronze.commit([*rates(), record(order), *shop(1, visitors=3)])
    run_jobs(spark, settings)
    return bronze


@pytest.mark.long
def test_late_visit_is_credited_if_publish_dies_and_the_gate_closes(
    spark: SparkSession, settings: Settings
) -> None:
    """Repair processes the visit with rows that are held: the interrupted batch sees none of both."""
    bronze = bronze_with_order(spark, settings)
    bronze.commit([*shop(2, NEXT, visitors=3), LATE_VISIT])
    run_jobs(spark, settings, "refine")
    with dying_at("gold.conversions"):
        run_jobs(spark, settings, "publish")
    bronze.commit(without_number(shop(3, NEXT, visitors=3)))
    run_jobs(spark, settings, "refine", "repair")
    publish_is_held(spark, settings)
    release(spark, settings)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))


@pytest.mark.long
def test_late_visit_is_credited_if_repair_goes_before_an_interrupted_batch_of_refine(
    spark: SparkSession, settings: Settings
) -> None:
    """Its session is behind rows in the log that have no ledger row yet, so publish can't read it."""
    bronze = bronze_with_order(spark, settings)
    bronze.commit([LATE_VISIT])
    run_jobs(spark, settings, "refine")
    bronze.commit(shop(2, NEXT, visitors=3))
    with dying_at("ops.ledger"):
        run_jobs(spark, settings, "refine")
    run_jobs(spark, settings, "repair", "publish")
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))


@pytest.mark.long
def test_gate_and_gold_agree_after_publish_dies_at_any_commit(
    spark: SparkSession, settings: Settings
) -> None:
    """A partly published batch is completed, and one that was not started is not published.

    Rows of the same visitors that the gate holds never reach gold.
    """
    bronze = Bronze(spark, settings)
    good: list[Stored] = []
    for number, tables in enumerate((*PUBLISHING, *CLOSING)):
        begin = NOON + timedelta(hours=3 * number)
        name, other = str(2 * number), str(2 * number + 1)
        bronze.commit(shop(int(name), begin, visitors=3))
        good = list(bronze.stored)  # rows released before are part of it
        run_jobs(spark, settings, "refine")
        before, versions = facts_of_gold(settings), versions_of_gold(settings)
        with dying_at(*tables) if tables in PUBLISHING else nullcontext():
            run_jobs(spark, settings, "publish")
        nothing_had_come = versions_of_gold(settings) == versions
        bronze.commit(without_number(by_visitors_of(shop(int(other), begin, visitors=3), other, name)))
        run_jobs(spark, settings, "refine", "repair")
        if tables in CLOSING:
            with dying_at(*tables):
                run_jobs(spark, settings, "publish")
        publish_is_held(spark, settings)
        assert facts_of_gold(settings) == (before if nothing_had_come else facts_wanted(good)), tables
        release(spark, settings)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
