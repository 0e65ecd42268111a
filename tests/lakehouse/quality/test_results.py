"""ops.expectations as history: only rows that count are collected, with the same result as all rows."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pyspark.sql import SparkSession

from kit.spark import empty_home
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.quality.evaluation import Result
from lakehouse.quality.history import EVALUATIONS, RowCounts, WrittenCounts, history_of
from lakehouse.quality.results import read_history, rows_of, run_id_of, write_results
from lakehouse.quality.suites import STOP, Expectation

BEGIN = datetime(2026, 3, 1, tzinfo=timezone.utc)
KIND = "expect_column_values_to_not_be_in_set"
CLICKS = Expectation("silver.impressions", "clicks", KIND, STOP, "outcome", at_least=200, margin=0.2)
COPIES = Expectation("silver.duplicate_events", "copies", KIND, "warn", "_table", margin=0.1)
OTHER = Expectation("silver.events", "clicks", KIND, STOP, "url")
EXPECTED = (CLICKS, COPIES, OTHER)


def upto(number: int) -> datetime:
    return BEGIN + timedelta(seconds=number)


def random_results(chance: random.Random, number: int) -> list[Result]:
    found = []
    for each in EXPECTED:
        rows = chance.choice([0, 199, 200, 1_000])
        success = chance.random() < 0.6
        found.append(Result(each, success, rows, chance.randrange(rows + 1), 0.1, RowCounts(1, 0)))
    return found


def as_written(number: int, results: Sequence[Result]) -> list[WrittenCounts]:
    return [
        WrittenCounts(
            run_id_of("publish", upto(number - 1), upto(number)),
            each.expectation.table,
            each.expectation.name,
            each.success,
            each.severity,
            each.rows,
            each.unexpected,
        )
        for each in results
    ]


def test_history_from_latest_rows_equals_history_from_all_rows(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "publish")
    chance, rows, written = random.Random(7), [], []
    for number in range(3 * EVALUATIONS):
        results = random_results(chance, number)
        rows += rows_of("publish", upto(number - 1), upto(number), results)
        rows += rows_of("quality", upto(number - 1), upto(number), random_results(chance, number))
        written += as_written(number, results)
    write_results(lake, chance.sample(rows, len(rows)))
    released = {each.run_id for each in chance.sample(written, 100)}
    wanted = history_of(EXPECTED, written, released)
    assert wanted.of(CLICKS) is not None
    found = read_history(lake, EXPECTED, released)
    assert [found.of(each) for each in EXPECTED] == [wanted.of(each) for each in EXPECTED]
    without = read_history(lake, EXPECTED, set())
    assert without.of(CLICKS) == history_of(EXPECTED, written, ()).of(CLICKS) != wanted.of(CLICKS)


def test_no_table_is_read_without_margins(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "publish")
    read_history(lake, [OTHER, replace(CLICKS, margin=None)], ())
    assert lake.counter.copy()["table_reads"] == 0
