"""The change feed of tables that jobs and Spark write."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from gold.rebuild_definitions import DEFINITIONS
from kit.change_folding import assert_feed_folds
from kit.pipeline import run_jobs
from kit.records import Bronze
from kit.scenarios import cut, rate_records, rush_events, story_events
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.contracts.table import Column, Table
from lakehouse.delta.changes import read_changes
from lakehouse.delta.data_files import has_deletion_vectors
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings

pytestmark = pytest.mark.long
TABLES_WITH_FEED = [table for table in TABLES.values() if table.layer in ("silver", "gold")]
REBUILT = "gold.attribution"
TABLES_CHANGED_TWICE = (
    "silver.sessions",
    "silver.impressions",
    "gold.conversions",
    "gold.attribution",
    "gold.traffic",
)


def rebuild(spark: SparkSession, settings: Settings) -> None:
    job = rebuild_job(DEFINITIONS, [REBUILT])
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def overwrite(spark: SparkSession, settings: Settings) -> None:
    """Overwrite the table as a rebuild does, with other rows."""
    lake = Lakehouse(spark.newSession(), settings, "rebuild")
    lake.overwrite(REBUILT, checkpoint(lake.read(REBUILT).where("model <> 'linear'")))


@pytest.mark.parametrize("rewrite", [overwrite, rebuild])
def test_feed_of_tables_written_by_jobs_folds_at_each_version(
    spark: SparkSession, tmp_path: Path, rewrite: Callable[[SparkSession, Settings], None]
) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=1)
    coarse = settings.model_copy(update={"max_batch_rows": 1_000_000})
    bronze = Bronze(spark, settings)
    for records in cut(story_events(10) + rate_records() + rush_events()):
        bronze.commit(records)
        run_jobs(spark, settings, "refine")
        run_jobs(spark, coarse, "repair", "publish")
    versions = {}
    for table in TABLES_WITH_FEED:
        folder = settings.warehouse / table.layer / table.short_name
        if DeltaTable.is_deltatable(str(folder)):
            found = assert_feed_folds(folder, table, begins=[0])
            versions[table.name] = len(set(found["commit_version"].to_pylist()))
    assert {name: versions.get(name, 0) for name in TABLES_CHANGED_TWICE if versions.get(name, 0) < 2} == {}
    folder = settings.warehouse.joinpath(*REBUILT.split("."))
    before = DeltaTable(folder).version()
    rewrite(spark, settings)
    assert DeltaTable(folder).version() > before
    assert_feed_folds(folder, TABLES[REBUILT], begins=[before])


def test_feed_of_table_with_deletion_vectors_folds_to_the_table(spark: SparkSession, tmp_path: Path) -> None:
    marks = Table(
        name="gold.marks",
        grain="mark",
        key=("mark",),
        columns=(
            Column("mark", "bigint", "key"),
            Column("seen_at", "timestamp", "a time"),
            Column("group", "string", "partition"),
        ),
        partitioned_by=("group",),
    )
    folder = tmp_path / "gold" / "marks"
    at = f"delta.`{folder}`"
    spark.sql(
        f"CREATE TABLE {at} (mark BIGINT, seen_at TIMESTAMP, `group` STRING) USING delta"
        " PARTITIONED BY (`group`) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(
        f"INSERT INTO {at} SELECT /*+ COALESCE(1) */ id, timestamp_micros(id * 1000003), concat('g ', id % 2)"
        " FROM range(200)"
    )
    spark.sql(f"DELETE FROM {at} WHERE mark % 7 = 3")
    spark.sql(f"UPDATE {at} SET seen_at = timestamp_micros(1) WHERE mark % 50 = 1")
    spark.sql(f"DELETE FROM {at} WHERE mark % 7 = 4")
    spark.sql(f"OPTIMIZE {at}")
    assert has_deletion_vectors(DeltaTable(folder))

    def read(place: Path, table: Table, version: int) -> pa.Table:
        rows = spark.read.format("delta").option("versionAsOf", version).load(str(place))
        return rows.select(*table.column_names).toArrow()

    found = assert_feed_folds(folder, marks, read=read)
    kinds = found.group_by(["commit_version", "change"]).aggregate([([], "count_all")]).to_pylist()
    assert {(each["commit_version"], each["change"]): each["count_all"] for each in kinds} == {
        (1, "insert"): 200,
        (2, "delete"): 29,
        (3, "update"): 3,
        (4, "delete"): 28,
    }
    latest = DeltaTable(folder).version()
    assert read_changes(folder, marks, 4, latest).num_rows == 0
    assert latest > 4
