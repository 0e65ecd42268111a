"""What a job is given to run with."""

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.query_tuning import MANY, Tuning
from lakehouse.run.rules_history import RulesHistory
from lakehouse.settings import Settings


class Watcher:
    """Hears how a job gets on; this one keeps quiet."""

    def expect(self, job: str, rows: int) -> None:
        """So many rows are waiting for the job, all told."""

    def advance(self, job: str, rows: int, seconds: float) -> None:
        """The job has finished a micro-batch of so many rows."""

    def say(self, job: str, line: str) -> None:
        """The job has something to say of what it is at."""


@dataclass
class Run:
    """One run of a job.

    Args:
        job: its name.
        spark: a session of its own.
        settings: the settings in force.
        once: catch up and stop; else go on until `stop`.
        stop: set when the job is to end after the batch at hand.
        watcher: hears of progress.
        turn: held while a micro-batch is worked on, where jobs share few cores.
        parameters: what the job was given besides settings, by name.
    """

    job: str
    spark: SparkSession
    settings: Settings
    once: bool
    stop: threading.Event = field(default_factory=threading.Event)
    watcher: Watcher = field(default_factory=Watcher)
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lake = Lakehouse(self.spark, self.settings, self.job)
        self._tuning = Tuning(self.spark)
        self._rules = RulesHistory(self.lake, self.settings.conf)

    def expect(self, rows: int) -> None:
        """Tell how many rows are waiting, those of the batch at hand included."""
        self.watcher.expect(self.job, rows)

    def advance(self, rows: int, seconds: float) -> None:
        """Tell that a micro-batch is done."""
        self.watcher.advance(self.job, rows, seconds)

    def say(self, line: str) -> None:
        """Say what the job is at, in a line."""
        self.watcher.say(self.job, line)

    def record_rules(self) -> None:
        """Keep the text of the rules that are in force, if they are new; see `RulesHistory`."""
        self._rules.record()

    def prepare_for(self, rows: int, behind: int = 0) -> None:
        """Get ready for a micro-batch of so many rows, with so many behind it."""
        self._tuning.prepare_for(rows, behind)
        self.lake.in_one_file = rows < MANY

    def prepare_to_sum_up(self) -> None:
        """Get ready to go through many rows, however few there are in the micro-batch, and to write few."""
        self._tuning.prepare_for(MANY, behind=0)
