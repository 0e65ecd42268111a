"""Many stories at once, late, duplicated and out of order, through the real jobs against the oracle."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gold.daily.update import QUERIES
from gold.rebuild_definitions import DEFINITIONS
from kit.folding import assert_changes_fold
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, empty_tables, run_jobs
from kit.records import Bronze
from kit.scenarios import cost_records, cut, rate_records, rush_events, story_events
from kit.spark import empty_home
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings

pytestmark = pytest.mark.long


def rebuild(spark: SparkSession, settings: Settings, tables: Sequence[str]) -> None:
    job = rebuild_job(DEFINITIONS, tables)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


REBUILT = [
    # the other tables of gold are rebuilt in gold/credit
    pytest.param((VISITOR_MINUTES.name, *QUERIES), id="some tables"),
    pytest.param(tuple(DEFINITIONS), id="all tables", marks=pytest.mark.long),
]


@pytest.mark.parametrize("tables", REBUILT)
def test_out_of_order_stories_and_their_rebuild_match_oracle(
    spark: SparkSession, tmp_path: Path, tables: tuple[str, ...]
) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=1)  # one bronze commit a micro-batch
    coarse = settings.model_copy(update={"max_batch_rows": 1_000_000})
    bronze = Bronze(spark, settings)
    first, second, *rest = cut(story_events(40) + rate_records() + cost_records() + rush_events())
    bronze.commit(first + second)
    run_jobs(spark, settings, "refine")
    run_jobs(spark, coarse, "repair", "publish")
    for records in rest:
        bronze.commit(records)
    run_jobs(spark, settings, "refine")
    run_jobs(spark, coarse, "repair", "publish")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 2
    empty_tables(settings, set(tables) - {TRAFFIC.name, VISITOR_MINUTES.name})
    rebuild(spark, settings, tables)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 2, "traffic was right, so nothing of it has changed"


@pytest.mark.long
@pytest.mark.parametrize("jobs_after_every_commit", [True, False])
def test_many_stories_match_oracle(
    spark: SparkSession, tmp_path: Path, jobs_after_every_commit: bool
) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=500)
    bronze = Bronze(spark, settings)
    for records in cut(story_events(400) + rate_records() + cost_records() + rush_events()):
        bronze.commit(records)
        if jobs_after_every_commit:
            run_jobs(spark, settings)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
