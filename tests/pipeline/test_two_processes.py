"""Refine and repair as two Java processes on one catalog, at the same time."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.deliveries import cut, deliver
from kit.metastore import running_metastore
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import Bronze
from kit.spark import empty_home, forget_tables
from lakehouse.settings import Settings

COMMITS = 5
REFINED = 3  # before the two processes start; repair has the first


@pytest.mark.long
def test_refine_and_repair_in_two_processes_match_oracle(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    records = cut(deliver(30, 3), COMMITS, 1)  # late events are in each but the first
    for number, batch in enumerate(records):
        bronze.commit(batch)
        if number < REFINED:
            run_jobs(spark, settings, "refine", *(["repair"] if not number else []))

    place = tmp_path / "metastore"
    place.mkdir()
    with running_metastore(place) as metastore:
        metastore.register(settings.warehouse, tables_of(settings))
        running = {job: metastore.start(job, settings) for job in ("refine", "repair")}
        for job, application in running.items():
            while not application.has_ended():
                application = metastore.start(job, settings)  # as a workspace does
        assert metastore.ran_at_the_same_time()

    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    forget_tables(spark)


def tables_of(settings: Settings) -> dict[str, Path]:
    """Folders of the tables by name."""
    logs = settings.warehouse.glob("*/*/_delta_log")
    return {f"{log.parents[1].name}.{log.parent.name}": log.parent for log in logs}
