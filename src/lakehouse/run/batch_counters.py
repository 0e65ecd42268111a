"""Counters of a micro-batch: Spark jobs and shuffles, commits, and tables read."""

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

_PATIENCE_MILLIS = 1000  # for Spark's own account of its jobs, which is kept by a thread behind them


@dataclass(frozen=True)
class Counts:
    """What a micro-batch took. None where the runtime does not let its Java objects be asked.

    Args:
        spark_jobs: Spark jobs.
        shuffles: their stages that read what other stages have written.
        commits: commits to tables.
        table_reads: tables looked up.
    """

    spark_jobs: int | None = None
    shuffles: int | None = None
    commits: int | None = None
    table_reads: int | None = None


class TableCounter:
    """Commits to tables and tables looked up, by all threads of a job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, what: str) -> None:
        """One more of `commits` or `table_reads`."""
        with self._lock:
            self._counts[what] += 1

    def copy(self) -> Counter[str]:
        """The counts as they are now."""
        with self._lock:
            return Counter(self._counts)


class BatchCounter:
    """Counts from when it is made.

    Spark tags each job of a query with its session's id, whatever thread runs it, and each job of the bundle
    has a session of its own.

    Args:
        spark: the job's session.
        tables: counts of the same job.
    """

    def __init__(self, spark: SparkSession, tables: TableCounter) -> None:
        self._spark = spark
        self._tables = tables
        self._before = tables.copy(), _spark_jobs(spark)

    def counts(self) -> Counts:
        """What has come since."""
        tables, known = self._before
        since = self._tables.copy()
        found = _spark_jobs(self._spark)
        fresh = None if known is None or found is None else found - known
        return Counts(
            None if fresh is None else len(fresh),
            None if fresh is None else _shuffles(self._spark, fresh),
            since["commits"] - tables["commits"],
            since["table_reads"] - tables["table_reads"],
        )


def _spark_jobs(spark: SparkSession) -> set[int] | None:
    """Ids of the jobs of a session that Spark remembers; None where it can't be asked."""
    try:
        tag = _java(spark).sessionJobTag()
        context = _java(spark).sparkContext()
        context.listenerBus().waitUntilEmpty(_PATIENCE_MILLIS)
        return {int(job) for job in context.statusTracker().getJobIdsForTag(tag)}
    except Exception:  # noqa: BLE001 - no figure is worth a micro-batch
        return None


def _shuffles(spark: SparkSession, jobs: set[int]) -> int | None:
    """How many stages of these jobs have read shuffled rows."""
    try:
        store = _java(spark).sparkContext().statusStore()
        stages = {stage for job in jobs for stage in store.job(job).stageIds().mkString(",").split(",")}
        read = [int(store.lastStageAttempt(int(stage)).shuffleReadBytes()) for stage in stages if stage]
        return sum(size > 0 for size in read)
    except Exception:  # noqa: BLE001 - no figure is worth a micro-batch
        return None


def _java(spark: SparkSession) -> Any:
    return spark._jsparkSession  # noqa: SLF001 - there is no other way to ask for a session's jobs
