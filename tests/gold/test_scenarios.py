"""Many stories at once, late, doubled and in any order, through the real jobs: as the oracle says."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gold.rebuild_definitions import DEFINITIONS
from kit.folding import assert_changes_fold
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import Bronze
from kit.scenarios import cut, rate_records, rush_events, story_events
from kit.spark import empty_home
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings


def empty(spark: SparkSession, settings: Settings) -> None:
    """Let the tables that are swapped as a whole be of no use."""
    lake = Lakehouse(spark.newSession(), settings, "test")
    for name in DEFINITIONS.keys() - {TRAFFIC.name, VISITOR_MINUTES.name}:
        lake.overwrite(name, lake.read(name).limit(0))


def rebuild(spark: SparkSession, settings: Settings) -> None:
    job = rebuild_job(DEFINITIONS, list(DEFINITIONS))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def test_stories_told_out_of_order(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=1)  # one bronze commit a micro-batch
    coarse = settings.model_copy(update={"max_batch_rows": 1_000_000})
    bronze = Bronze(spark, settings)
    first, second, *rest = cut(story_events(40) + rate_records() + rush_events())
    bronze.commit(first + second)
    run_jobs(spark, settings, "refine")
    run_jobs(spark, coarse, "repair", "publish")
    for records in rest:
        bronze.commit(records)
    run_jobs(spark, settings, "refine")
    run_jobs(spark, coarse, "repair", "publish")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 2
    empty(spark, settings)
    rebuild(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 2, "traffic was right, so nothing of it has changed"


@pytest.mark.long
@pytest.mark.parametrize("jobs_after_every_commit", [True, False])
def test_many_stories(spark: SparkSession, tmp_path: Path, jobs_after_every_commit: bool) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=500)
    bronze = Bronze(spark, settings)
    for records in cut(story_events(400) + rate_records() + rush_events()):
        bronze.commit(records)
        if jobs_after_every_commit:
            run_jobs(spark, settings)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
