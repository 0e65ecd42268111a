"""Counters in the ledger: Spark jobs, shuffles, commits and tables read of each micro-batch."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.pipeline import read_rows, run_jobs
from kit.records import NOON, Bronze, message, record
from kit.spark import empty_home
from lakehouse.contracts.ops import LEDGER
from lakehouse.contracts.silver import IDENTITIES
from lakehouse.run.batch_source import Batch
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import Outcome, run_microbatches
from lakehouse.settings import Settings

COUNTERS = ("spark_jobs", "shuffles", "tasks", "task_seconds", "commits", "table_reads")


def ledger(settings: Settings, job: str) -> list[dict[str, Any]]:
    rows = read_rows(settings, LEDGER.name, LEDGER.column_names)
    return sorted((row for row in rows if row["job"] == job), key=lambda row: int(row["batch_id"]))


def commits_of(settings: Settings, job: str) -> int:
    """Commits to silver that name the job, by the logs of its tables."""
    logs = settings.warehouse.glob("silver/*/_delta_log/*.json")
    found = [
        json.loads(line) for log in logs for line in log.read_text().splitlines() if "commitInfo" in line
    ]
    metadata = [json.loads(each["commitInfo"].get("userMetadata") or "{}") for each in found]
    return sum(each.get("job") == job for each in metadata)


@pytest.mark.long
def test_ledger_counts_jobs_commits_and_reads_of_refine_and_publish(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    order = {"order_id": "1", "total": 5}
    bronze.commit(
        [record(message("a", "v")), record(message("b", "v", "Order Completed", NOON, properties=order))]
    )
    run_jobs(spark, settings, "refine", "publish")
    Bronze(spark, settings, commits=1).commit([record(message("c", "v"))])
    run_jobs(spark, settings, "refine", "publish")
    for job in ("refine", "publish"):
        _, row = ledger(settings, job)
        assert row["commits"] > 0
        assert row["table_reads"] > 0
        assert row["spark_jobs"] > 0
        assert row["tasks"] >= row["spark_jobs"]
        assert row["task_seconds"] > 0
    for ingested in ledger(settings, "ingest"):
        assert [ingested[name] for name in COUNTERS] == [None] * len(COUNTERS)
    refined = sum(row["commits"] for row in ledger(settings, "refine"))
    assert refined == commits_of(settings, "refine") + 1  # that of the rules, to ops.rules


def test_batch_counters_cover_all_threads_of_the_batch_only(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    Bronze(spark, settings).commit([record(message("a", "v"))])
    run = JobContext("refine", spark.newSession(), settings, once=True)
    run.record_rules()
    run.lake.create(IDENTITIES.name)

    def one_shuffle() -> None:
        run.spark.range(10, numPartitions=2).repartition(3).write.format("noop").mode("overwrite").save()

    def process(_: Batch) -> Outcome:
        with ThreadPoolExecutor() as another_job:
            another_job.submit(lambda: spark.range(10).repartition(3).collect()).result()
        one_shuffle()
        run_concurrently([one_shuffle, one_shuffle])
        run.lake.append(IDENTITIES.name, run.lake.read(IDENTITIES.name).limit(0))
        return Outcome()

    def only_shuffles(batch: Batch) -> Outcome:
        one_shuffle()
        run_concurrently([one_shuffle, one_shuffle])
        return Outcome(input_rows=batch.rows)

    run_microbatches(run, "ingest", only_shuffles)
    Bronze(spark, settings, commits=1).commit([record(message("b", "v"))])
    run_microbatches(run, "ingest", process)
    first, second = ledger(settings, "refine")
    assert [first[name] for name in ("spark_jobs", "shuffles", "commits", "table_reads")] == [3, 3, 0, 0]
    assert first["tasks"] == 3 * (2 + 3)
    assert [second[name] for name in ("shuffles", "commits", "table_reads")] == [3, 1, 1]
    assert second["spark_jobs"] >= 3


def test_failed_batch_leaves_no_job_tag_in_its_thread(spark: SparkSession, tmp_path: Path) -> None:
    """Spark jobs of later batches would have it, and PySpark does not report streaming queries with one."""
    settings = empty_home(spark, tmp_path)
    Bronze(spark, settings).commit([record(message("a", "v"))])
    run = JobContext("refine", spark.newSession(), settings, once=True)
    before = spark.sparkContext.getJobTags()

    def process(_: Batch) -> Outcome:
        assert spark.sparkContext.getJobTags() > before
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        run_microbatches(run, "ingest", process)
    assert spark.sparkContext.getJobTags() == before
