"""The context of a running job: session, settings, tables, progress."""

import sys
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.batch_settings import ROWS_PER_FILE, BatchSettings
from lakehouse.run.job_session import isolated_session
from lakehouse.run.rules_history import RulesHistory
from lakehouse.settings import Settings

T = TypeVar("T")


class JobListener:
    """Receives the progress of a job; this one ignores it."""

    def report_backlog(self, job: str, rows: int) -> None:
        """Called with the number of rows that are waiting for the job."""

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        """Called after a micro-batch, with its rows and its duration."""

    def log(self, job: str, line: str) -> None:
        """Called with a line for the job's log."""


class PrintingListener(JobListener):
    """Writes log lines to standard output, which a platform keeps as the log of a task."""

    def log(self, job: str, line: str) -> None:
        """Write a line, with the job's name."""
        sys.stdout.write(f"{job}: {line}\n")
        sys.stdout.flush()


@dataclass
class JobContext:
    """One run of a job.

    Args:
        job: its name.
        spark: a session that no other job uses.
        settings: the settings in force.
        once: whether to stop when caught up; else the job runs until `stop` is set.
        stop: set to end the job after the current micro-batch.
        listener: receives progress.
        slot: held during a micro-batch, where jobs share few cores.
        parameters: the job's own parameters, by name.
        rebuilt: tables that this run has rebuilt.
    """

    job: str
    spark: SparkSession
    settings: Settings
    once: bool
    stop: threading.Event = field(default_factory=threading.Event)
    listener: JobListener = field(default_factory=JobListener)
    slot: AbstractContextManager[object] = field(default_factory=nullcontext)
    parameters: Mapping[str, str] = field(default_factory=dict)
    rebuilt: set[str] = field(default_factory=set)
    _reused: dict[type, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lake = Lakehouse(self.spark, self.settings, self.job)
        self._batch_settings = BatchSettings(self.spark, self.settings.shuffle_partitions)
        self._rules = RulesHistory(self.lake, self.settings.conf)

    def in_new_session(self) -> "JobContext":
        """This run in a new session, for work that is concurrent with its micro-batches.

        It is this object where the application has one session only.
        """
        session = isolated_session(self.spark)
        if session is self.spark:
            return self
        other = replace(self, spark=session, _reused={})
        other.lake = self.lake.in_session(session)
        return other

    def report_backlog(self, rows: int) -> None:
        """Report how many rows are waiting, those of the current batch included."""
        self.listener.report_backlog(self.job, rows)

    def report_batch(self, rows: int, seconds: float) -> None:
        """Report a finished micro-batch."""
        self.listener.report_batch(self.job, rows, seconds)

    def log(self, line: str) -> None:
        """Write a line to the job's log."""
        self.listener.log(self.job, line)

    def record_rules(self) -> None:
        """Record the rules in force, if others were before; see `RulesHistory`."""
        self._rules.record()

    def rebuilding(self, table: str) -> AbstractContextManager[None]:
        """Record a rebuild by the rules in force, which the block computes and writes; see `RulesHistory`."""
        return self._rules.rebuilding(table)

    def reuse(self, computed: T) -> T:
        """An equal object of the same class that an earlier step of this run gave, else this one."""
        earlier: T | None = self._reused.get(type(computed))
        if earlier is None or earlier != computed:
            self._reused[type(computed)] = earlier = computed
        return earlier

    def tune_for_batch(self, rows: int, read: int = 0, keys: int = 0) -> None:
        """Choose the session's settings for a micro-batch, or for another computation over so many rows.

        Args:
            rows: number of new rows.
            read: number of events of the history that it reads and shuffles.
            keys: number of keys that it searches the history by, if there may be more than rows of a
                micro-batch.
        """
        self._batch_settings.choose(rows, read, keys)
        self.lake.files_per_append = max(1, rows // ROWS_PER_FILE)
