"""The ingest stream: from Kafka to bronze, exactly once."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

from bronze.records import with_ingest_time
from bronze.topics.topic_watch import TopicWatch
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.delta.count_by_stamp import count_by_stamp
from lakehouse.delta.exclusive import lock_of
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger, now
from lakehouse.timestamps import EPOCH, from_micros

_TICK = timedelta(microseconds=1)


class Ingest:
    """Appends each micro-batch to bronze exactly once, with one ingest stamp.

    Delta skips a micro-batch that it has already committed for this query. Rows that the ledger lacks are
    computed from bronze: one for each ingest stamp.

    Args:
        run: the job's run.
        query_id: id of the streaming query, which names the Delta transaction.
        committed: the last micro-batch that this query has committed, -1 if none.
        watch: checks the topics before each micro-batch.

    Attributes:
        arrived: monotonic time of the end of the last micro-batch, or else of this object's creation.
    """

    def __init__(
        self, run: JobContext, query_id: Callable[[], str], committed: int, watch: TopicWatch
    ) -> None:
        self._run = run
        self._query_id = query_id
        self._committed = committed
        self._watch = watch
        self._ledger = Ledger(run.lake)
        self._last = self._ledger.last(run.job)
        self.arrived = time.monotonic()

    @property
    def position(self) -> datetime:
        """Ingest stamp of the last micro-batch in the ledger."""
        return self._last.position if self._last else EPOCH

    def complete_ledger(self) -> None:
        """Write ledger rows that are missing after a crash."""
        for stamp, rows in count_by_stamp(self._run.lake, KAFKA_RECORDS.name, self.position):
            self._record(from_micros(stamp), rows, now())

    def write(self, records: DataFrame, batch_id: int) -> None:
        """Append a micro-batch; do nothing if it was already appended.

        Raises:
            MillraceError: if a topic can't be read without a loss any more; nothing is written then.
        """
        if batch_id <= self._committed:
            return
        self._watch.before_batch()
        started_at = now()
        stamp = max(started_at, self.position + _TICK)
        written = Observation()
        stamped = with_ingest_time(records, stamp, self._watch.shifts())
        stamped = stamped.observe(written, F.count(F.lit(1)).alias("rows"))
        lock = lock_of(self._run.settings.warehouse, KAFKA_RECORDS.name)
        with lock:  # an erasure removes files that are in no commit
            self._run.lake.append_once(KAFKA_RECORDS.name, stamped, self._query_id(), batch_id)
        self._committed = batch_id
        if rows := written.get["rows"]:
            self._record(stamp, rows, started_at)
        self.arrived = time.monotonic()

    def _record(self, stamp: datetime, rows: int, started_at: datetime) -> None:
        seconds = (now() - started_at).total_seconds()
        batch_id = self._last.batch_id + 1 if self._last else 0
        self._last = Entry(self._run.job, batch_id, stamp, started_at, seconds, rows, output_rows=rows)
        self._ledger.record(self._last)
        self._run.report_batch(rows, seconds)


def ingest_records(records: DataFrame, write: Callable[[DataFrame, int], None]) -> DataStreamWriter:
    """The streaming query, not started yet: the job adds trigger and checkpoint."""
    return records.writeStream.queryName("ingest").foreachBatch(write)
