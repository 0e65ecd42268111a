"""Jobs give the same rows if maintenance runs between their batches."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kit.folding import assert_changes_fold
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import Bronze
from kit.scenarios import cut, story_events
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.maintenance import spark_table
from lakehouse.maintenance.maintenance_job import maintain
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings


@pytest.mark.long
def test_compaction_between_batches_keeps_results_equal_to_oracle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_table, "MIN_FILES", 1)
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    *early, last = cut(story_events(30))
    for half in (early[: len(early) // 2], early[len(early) // 2 :]):
        bronze.commit([record for records in half for record in records])
        run_jobs(spark, settings)
    before = versions(settings)
    maintain(JobContext("maintenance", spark.newSession(), settings, once=True))
    changed = {name for name, version in versions(settings).items() if version > before[name]}
    assert changed >= {"gold.touches", "gold.attribution", "silver.sessions"}
    bronze.commit(last)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 2


def versions(settings: Settings) -> dict[str, int]:
    """The version of each table that is merged into."""
    names = [name for name, table in TABLES.items() if table.is_mutable]
    return {name: DeltaTable(settings.warehouse / name.replace(".", "/")).version() for name in names}
