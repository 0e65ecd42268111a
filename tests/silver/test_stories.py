"""Generated stories against the oracle: any clock, late by seconds or months, in any batches.

An example is one story: the events of one or two visitors, with their duplicates. Many share a run of Spark.
"""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bronze.job import ingest
from folds.records.parse_rules import load_parse_rules
from folds.rule_numbers import load_rule_numbers
from folds.visitors.rules import VisitorRules
from kit.deliveries import Delivery, cut, deliver, describe_deliveries
from kit.home import Home
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, assert_same, plain, run_jobs
from kit.records import Bronze, Stored, in_bronze
from kit.spark import empty_home
from kit.stored_records import stored_records
from kit.topics import open_topic
from lakehouse.contracts import TABLES
from lakehouse.contracts.costs import CAMPAIGN_COSTS
from lakehouse.contracts.silver import BOTS, CONSENTS, EXCHANGE_RATES, FOLDED, IDENTITIES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from lakehouse.timestamps import as_utc
from silver.campaign_costs import cost_changes
from silver.dedup.classification import COST, DUPLICATE, EVENT, RATE, REJECTED
from silver.dedup.classify import classify, dedup_candidates, records_of_class
from silver.dedup.deduplicate import mark_duplicates
from silver.exchange_rates import rate_changes
from silver.parsing.record_parser import RecordParser
from silver.people.identities_and_bots import COLUMNS, PeopleRules, all_rows
from silver.visits.result_fold import all_results
from silver.visits.visit_fold import all_visits


@contextmanager
def described_failure(deliveries: list[Delivery]) -> Any:
    """On failure, report the shortest story that differs."""
    try:
        yield
    except AssertionError as failed:
        pytest.fail(f"{failed}\nthe story:\n{describe_deliveries(deliveries, str(failed))}", pytrace=False)


def compute_silver(records: DataFrame, settings: Settings) -> dict[str, DataFrame]:
    """Silver computed from all records at once, by its own functions."""
    parser = RecordParser(load_parse_rules(settings.conf), settings.side_topics)
    candidates = checkpoint(parser.parse(records))
    copies = checkpoint(mark_duplicates(dedup_candidates(candidates)))
    classified = checkpoint(classify(candidates, copies, F.lit(None).cast("timestamp")))
    events = records_of_class(classified, EVENT)
    watermark = as_utc(events.agg(F.max("event_time")).collect()[0][0]) - settings.watermark_delay
    rules = VisitorRules.of(load_rule_numbers(settings.conf))
    people, theirs = PeopleRules.load(settings.conf), events.select("visitor_id", *COLUMNS)
    lake = Lakehouse(records.sparkSession, settings, "test")
    no_rates, no_costs = (lake.read(table.name).limit(0) for table in (EXCHANGE_RATES, CAMPAIGN_COSTS))
    rates, costs = (
        rate_changes(records_of_class(classified, RATE), no_rates),
        records_of_class(classified, COST),
    )
    return {
        "silver.events": events,
        "silver.rejected_events": records_of_class(classified, REJECTED),
        "silver.duplicate_events": records_of_class(classified, DUPLICATE),
        **{table.name: all_visits(events, table, rules, watermark) for table in FOLDED},
        "silver.search_results": all_results(events, rules.searches, watermark),
        "silver.identities": all_rows(theirs, IDENTITIES, people),
        "silver.bots": all_rows(theirs, BOTS, people),
        "silver.consents": all_rows(theirs, CONSENTS, people),
        "silver.exchange_rates": rates,
        "silver.cost_records": costs,
        "silver.campaign_costs": cost_changes(costs, no_costs, rates, settings),
    }


def check_full_computation(spark: SparkSession, settings: Settings, stored: Sequence[Stored]) -> None:
    tables = compute_silver(in_bronze(spark, stored), settings)

    def read(table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        return [plain(row.asDict(recursive=True)) for row in tables[table].select(*columns).collect()]

    of_shop = {name for name, table in TABLES.items() if table.writer == "dimensions"}
    assert_same(Oracle.over(stored), read, "silver", left_out=of_shop)


def check_in_batches(spark: SparkSession, home: Path, stories: int, batches: int, number: int) -> None:
    """Compare the jobs, gold included, after each batch, then silver computed from all records at once."""
    settings = empty_home(spark, home)
    bronze = Bronze(spark, settings)
    deliveries = deliver(stories, number)
    with described_failure(deliveries):
        for records in cut(deliveries, batches, number):
            bronze.commit(records)
            run_jobs(spark, settings)
            assert_as_the_oracle(settings, Oracle.over(bronze.stored))
        check_full_computation(spark, settings, bronze.stored)


def test_batched_and_full_silver_match_oracle(spark: SparkSession, tmp_path: Path) -> None:
    check_in_batches(spark, tmp_path, stories=100, batches=2, number=1)


@pytest.mark.long
@pytest.mark.parametrize("batches", [3, 6])
def test_batched_and_full_silver_match_oracle_for_many_stories(
    spark: SparkSession, tmp_path: Path, batches: int
) -> None:
    check_in_batches(spark, tmp_path, stories=200, batches=batches, number=batches)


def check_through_kafka(spark: SparkSession, home: Home, stories: int, batches: int, number: int) -> None:
    """Send batches through Kafka and all jobs, and compare after each."""
    empty_home(spark, home.path)
    settings = home.settings
    deliveries = deliver(stories, number)
    with open_topic(home) as topic, described_failure(deliveries):
        for records in cut(deliveries, batches, number):
            topic.send(records)
            ingest(JobContext("ingest", spark.newSession(), settings, once=True))
            run_jobs(spark, settings)
            assert_as_the_oracle(settings, Oracle.over(stored_records(settings)))
    assert len(stored_records(settings)) == len(deliveries)


@pytest.mark.long
def test_stories_through_kafka_match_oracle(spark: SparkSession, new_home: Callable[..., Home]) -> None:
    check_through_kafka(spark, new_home(), stories=10, batches=2, number=50)


@pytest.mark.long
@pytest.mark.parametrize("batches", [4])
def test_many_stories_through_kafka_match_oracle(
    spark: SparkSession, new_home: Callable[..., Home], batches: int
) -> None:
    check_through_kafka(spark, new_home(), stories=20, batches=batches, number=50 + batches)
