"""Counters of a micro-batch: Spark jobs and shuffles, commits, and tables read."""

import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from py4j.protocol import Py4JError
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
        """The counts since its creation; removes the tag."""
        since = self._tables.copy()
        jobs = _jobs_with(self._spark, self._tag)
        stages = None if jobs is None else _stages(self._spark, jobs)
        shuffles, tasks, seconds = (None, None, None) if stages is None else _sums(stages)
        return Counts(
            spark_jobs=None if jobs is None else len(jobs),
            shuffles=shuffles,
            tasks=tasks,
            task_seconds=seconds,
            commits=since["commits"] - self._before["commits"],
            table_reads=since["table_reads"] - self._before["table_reads"],
        )


def _jobs_with(spark: SparkSession, tag: str) -> set[int] | None:
    """Ids of the jobs with a tag, which is removed from this thread; None without access."""
    try:
        spark.sparkContext.removeJobTag(tag)
        context = _java(spark).sparkContext()
        context.listenerBus().waitUntilEmpty(_TIMEOUT_MILLIS)
        return {int(job) for job in context.statusTracker().getJobIdsForTag(tag)}
    except Exception:  # noqa: BLE001 - no figure is worth a micro-batch
        return None


def _stages(spark: SparkSession, jobs: set[int]) -> list[Any] | None:
    """The stages of these jobs that Spark's status store knows; None without access."""
    try:
        store = _java(spark).sparkContext().statusStore()
        numbers = {number for job in jobs for number in store.job(job).stageIds().mkString(",").split(",")}
    except Exception:  # noqa: BLE001 - no figure is worth a micro-batch
        return None
    found = (_stage(store, int(number)) for number in numbers if number)
    return [stage for stage in found if stage is not None]


def _stage(store: Any, number: int) -> Any:
    """A stage; None if Spark has dropped it, as it does first with stages that were skipped."""
    with suppress(Py4JError):
        return store.lastStageAttempt(number)
    return None


def _sums(stages: list[Any]) -> tuple[int, int, float]:
    """Stages that read shuffled rows, tasks, and seconds of these tasks. Skipped stages have no tasks."""
    shuffles = sum(int(stage.shuffleReadBytes()) > 0 for stage in stages)
    tasks = sum(int(stage.numCompleteTasks()) for stage in stages)
    return shuffles, tasks, sum(int(stage.executorRunTime()) for stage in stages) / 1000


def _java(spark: SparkSession) -> Any:
    return spark._jsparkSession  # noqa: SLF001 - there is no other way to ask for a session's jobs
