"""Counters of a micro-batch: Spark jobs and shuffles, commits, and tables read."""

import json
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from pyspark.sql import SparkSession

_NUMBERS = count()
_TIMEOUT_MILLIS = 1000  # to wait for Spark's listener bus, which records jobs asynchronously


@dataclass(frozen=True)
class Counts:
    """Counts of a micro-batch. None where the runtime gives no access to Spark's Java objects.

    Args:
        spark_jobs: Spark jobs.
        shuffles: stages of these jobs that read shuffled rows.
        tasks: tasks of these jobs.
        task_seconds: sum of their run times on executors, Python workers included.
        commits: commits to tables.
        table_reads: tables looked up.
    """

    spark_jobs: int | None = None
    shuffles: int | None = None
    tasks: int | None = None
    task_seconds: float | None = None
    commits: int | None = None
    table_reads: int | None = None


class TableCounter:
    """Counts commits and reads of tables, by all threads of a job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, what: str) -> None:
        """Count one of `commits` or `table_reads`."""
        with self._lock:
            self._counts[what] += 1

    def copy(self) -> Counter[str]:
        """The current counts."""
        with self._lock:
            return Counter(self._counts)


class BatchCounter:
    """Counts since its creation, in this thread and those that `run_concurrently` starts from it.

    The jobs have a tag, which Spark keeps by thread. A session's own tag would miss the jobs of Delta's
    snapshots, which belong to the session that has read the table first.

    Args:
        spark: the job's session.
        tables: counts of the same job.
    """

    def __init__(self, spark: SparkSession, tables: TableCounter) -> None:
        self._spark = spark
        self._tables = tables
        self._before = tables.copy()
        self._tag = f"micro-batch-{next(_NUMBERS)}"
        with suppress(Exception):  # Spark Connect has no Spark context
            spark.sparkContext.addJobTag(self._tag)

    def counts(self) -> Counts:
        """The counts since its creation; closes it."""
        since = self._tables.copy()
        self.close()
        jobs, shuffles, tasks, seconds = _figures(self._spark, self._tag)
        return Counts(
            spark_jobs=jobs,
            shuffles=shuffles,
            tasks=tasks,
            task_seconds=seconds,
            commits=since["commits"] - self._before["commits"],
            table_reads=since["table_reads"] - self._before["table_reads"],
        )

    def close(self) -> None:
        """Remove the tag from this thread, whose later jobs would have it too."""
        with suppress(Exception):  # as above
            self._spark.sparkContext.removeJobTag(self._tag)


def _figures(spark: SparkSession, tag: str) -> tuple[int, int, int, float] | tuple[None, None, None, None]:
    """Number of jobs with a tag, their shuffles, tasks and task seconds.

    Skipped stages have no tasks. Without access to Spark's status store, all are None.
    """
    try:
        context = spark._jsparkSession.sparkContext()  # noqa: SLF001 - there is no other way to its jobs
        context.listenerBus().waitUntilEmpty(_TIMEOUT_MILLIS)
        jobs, stages = _as_json(spark, context.statusStore())
    except Exception:  # noqa: BLE001 - no figure is worth a micro-batch
        return None, None, None, None
    mine = [job for job in jobs if tag in job["jobTags"]]
    numbers = {number for job in mine for number in job["stageIds"]}
    run = [stage for stage in stages if stage["stageId"] in numbers]
    shuffles = sum(stage["shuffleReadBytes"] > 0 for stage in run)
    millis = sum(stage["executorRunTime"] for stage in run)
    return len(mine), shuffles, sum(stage["numCompleteTasks"] for stage in run), millis / 1000


def _as_json(spark: SparkSession, store: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Jobs and stages in the status store: one call each, where a call for each field takes seconds."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - as above
    jvm = gateway.jvm
    mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
    mapper.registerModule(jvm.com.fasterxml.jackson.module.scala.DefaultScalaModule())
    no_quantiles = gateway.new_array(jvm.double, 0)
    found = store.jobsList(None), store.stageList(None, False, False, no_quantiles, None)
    jobs, stages = (json.loads(mapper.writeValueAsString(each)) for each in found)
    return jobs, stages
