"""The audit of tables in a catalog, against a real broker and the manifest of what was sent."""

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from bronze.entry_points import ingest
from kit.home import Home
from kit.spark import empty_home
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from millrace.operations.entry_points import audit
from silver.entry_points import silver


@pytest.mark.long
def test_audit_finds_record_deleted_from_silver(
    spark: SparkSession, new_home: Callable[..., Home], capsys: pytest.CaptureFixture[str]
) -> None:
    home = new_home()
    home.must("produce", "--events", "300", "--seed", "5")
    empty_home(spark, home.path)
    settings = home.settings.model_copy(update={"catalog": "spark_catalog"})

    def run(job: Job) -> None:
        job.body(JobContext(job.name, spark.newSession(), settings, once=True))

    run(ingest)
    run(silver)
    run(audit)
    shown = capsys.readouterr().out
    assert "Audit ok" in shown
    assert "manifest" in shown
    assert "WRONG" not in shown

    (first,) = spark.sql("SELECT topic, partition, offset FROM silver.events LIMIT 1").collect()
    spark.sql(f"DELETE FROM silver.events WHERE partition = {first.partition} AND offset = {first.offset}")
    with pytest.raises(MillraceError, match="differences"):
        run(audit)
    assert (
        "WRONG every record by its place: 1 bronze records are in no silver table" in capsys.readouterr().out
    )
    empty_home(spark, home.path)
