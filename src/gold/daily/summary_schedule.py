"""When publish updates summaries: less often than credit, and concurrently with its micro-batches."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.daily.summaries import Published, Summaries
from lakehouse.contracts import TABLES
from lakehouse.contracts.gold import CONVERSIONS, SUMMARY_LOCK
from lakehouse.contracts.table import DELETED
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import OLD_TIME, write_changes
from lakehouse.rows.checkpointing import released_at_end
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.job import JobContext
from lakehouse.timestamps import EPOCH, to_micros

_UNDER_LOAD = 4.0  # under load, updates take at most a quarter of the time
_LONGEST_PAUSE = 300.0  # seconds from the start of one to the next, since pages read what they write
_POOL = "summaries"
"""Scheduler pool of updates in a thread of their own: tasks of micro-batches go ahead of theirs."""

_PUBLISHED = [
    name
    for name, table in TABLES.items()
    if (table.layer, table.writer, table.cadence) == ("gold", "publish", "batch")
]
"""Tables that the micro-batches of publish write."""


class SummarySchedule:
    """Updates `Summaries`, and marks conversions that the watermark has passed as final.

    While publish runs continuously, an update runs in a thread and a session of its own. It reads gold and
    silver at the versions of its start, so micro-batches that publish after it change nothing in it. The
    first one of a new home runs in publish's thread, since pages show nothing before it.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._own = run.in_new_session()
        self._summaries = Summaries(self._own)
        self._pause = run.settings.summary_interval.total_seconds()
        self._published: Published | None = None
        self._is_stale = False
        self._started_at = 0.0  # on the monotonic clock
        self._took = 0.0  # seconds
        self._thread = ThreadPoolExecutor(1, "summaries")
        self._running: Future[None] | None = None

    def mark_stale(self, upto: datetime, watermark: datetime, side_input_upto: datetime) -> None:
        """Note new input and side input up to ingest stamps, complete up to a watermark."""
        self._published, self._is_stale = Published(upto, watermark, side_input_upto), True

    def forget(self, erased: DataFrame, visitors: DataFrame) -> None:
        """Remove what is left of erased events; see `Summaries.forget`."""
        if self._published:
            self._pin()
            self._summaries.forget(erased, visitors, self._published)

    def update(self, now: bool = False, under_load: bool = False) -> None:
        """Update what is stale and due.

        Args:
            now: update it even if it is not due yet, and wait for it.
            under_load: whether other work may be waiting, so that updates get a part of the time.

        Raises:
            Exception: any error of this update, or of the last one in the thread.
        """
        if self._running and (now or self._running.done()):
            self.finish()
        is_due = now or self._is_due(under_load)
        if self._running or not self._published or not is_due:
            return
        if self._is_stale or self._summaries.is_behind_shop:
            has_pages = self._run.lake.version(TRAFFIC.name) > 0
            self._start(self._published, in_thread=has_pages and not now and self._own is not self._run)

    def finish(self) -> None:
        """Wait for the update that is running.

        Raises:
            Exception: its error.
        """
        running, self._running = self._running, None
        if running:
            running.result()

    def _is_due(self, under_load: bool) -> bool:
        under_load_pause = min(_UNDER_LOAD * self._took, _LONGEST_PAUSE)
        pause = max(self._pause, under_load_pause) if under_load else self._pause
        return time.monotonic() - self._started_at >= pause

    def _start(self, published: Published, in_thread: bool) -> None:
        self._started_at = time.monotonic()
        update = self._summaries.update if self._is_stale else self._summaries.update_joined
        if self._is_stale:
            _finalise(self._run.lake, published)
        self._is_stale = False
        self._pin()
        if not in_thread:
            self._update(update, published)
            return
        has_lock = threading.Event()
        target = inheritable_thread_target(lambda: self._update_in_thread(update, published, has_lock))
        self._running = self._thread.submit(target)
        has_lock.wait()  # before a rebuild can begin

    def _pin(self) -> None:
        """Read all tables as this micro-batch of publish does, whatever the next ones write."""
        silver, lake = self._run.lake.pinned, self._own.lake
        gold = {name: self._run.lake.version(name) for name in _PUBLISHED}
        if self._own is not self._run:
            lake.pinned = lambda name: gold[name] if name in gold else silver(name)

    def _update_in_thread(
        self, update: Callable[[Published], None], published: Published, has_lock: threading.Event
    ) -> None:
        context = self._own.spark.sparkContext
        context.clearJobTags()  # these jobs are not of the micro-batch
        context.setLocalProperty("spark.scheduler.pool", _POOL)
        try:
            with self._own.lake.exclusive(SUMMARY_LOCK):
                has_lock.set()
                self._update(update, published)
        finally:
            has_lock.set()

    def _update(self, update: Callable[[Published], None], published: Published) -> None:
        with released_at_end(self._own.spark):
            update(published)
        self._took = time.monotonic() - self._started_at


def _finalise(lake: Lakehouse, published: Published) -> None:
    """Mark conversions that the watermark has passed as final."""
    passed = TimePruner.of_spans([(to_micros(EPOCH), to_micros(published.watermark))])
    due = lake.read(CONVERSIONS.name).where(passed.contains("due_at"))
    write_changes(lake, CONVERSIONS, _final(due), published.upto)


def _final(rows: DataFrame) -> DataFrame:
    """Changes that make rows of gold.conversions final."""
    return rows.withColumns(
        {
            "is_final": F.lit(True),
            "due_at": F.lit(None).cast("timestamp"),
            DELETED: F.lit(False),
            OLD_TIME: F.col("converted_at"),
        }
    )
