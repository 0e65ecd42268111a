"""The ingest job."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kafka.errors import KafkaError
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming import StreamingQuery

from bronze.checkpoint import Checkpoint
from bronze.heartbeats import HeartbeatTimer
from bronze.ingest import Ingest, ingest_records
from bronze.kafka import Spans, TopicIds, offset_spans, read_records, send_heartbeat
from bronze.starting_offsets import starting_offsets
from bronze.topics.topic_check import require_readable
from bronze.topics.topic_watch import TopicWatch
from lakehouse.run.batch_settings import SMALL_BATCH_ROWS
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import now
from lakehouse.run.side_topics import require_side_topics
from lakehouse.settings import Settings

_POLL_SECONDS = 1
_PARTS = 6
"""While ingest runs continuously, its micro-batches are this part of the largest one of the jobs after it.

So the first records of a backlog are in gold early. The other jobs take several commits of ingest at once.
"""

_QUERIED = ("ops.ledger", "ops.gates", "ops.reads", "bronze.kafka_records", "silver.events")
"""Tables of a catalog that alerts query, and to which the streaming API appends."""


def ingest(run: JobContext) -> None:
    """Write records of the subscribed topics to bronze, exactly once.

    Raises:
        MillraceError: if a topic was deleted, or created again, or lost records before they were read.
    """
    if run.settings.catalog:
        create_queried_tables(run)
    with TopicIds(run.settings) as ids:
        watch = TopicWatch(run, ids)
        spans = offset_spans(run.settings)
        while not spans and not watch.known:  # no topic yet: nothing to read, and nothing wrong
            if run.once or run.stop.wait(run.settings.trigger_interval.total_seconds()):
                return
            spans = offset_spans(run.settings)
        query, sink = _start(run, spans, watch)
        try:
            _drive(run, query, sink)
        except StreamingQueryException:
            require_readable(watch.troubles())  # Spark's error about a lost offset names no command
            raise


def create_queried_tables(run: JobContext) -> None:
    """Create the tables that others use before any job has finished a micro-batch, as alerts do."""
    for name in _QUERIED:
        run.lake.create(name)


def batch_rows(settings: Settings, once: bool) -> int:
    """Maximum number of records per micro-batch, approximately."""
    return settings.max_batch_rows if once else max(1, settings.max_batch_rows // _PARTS)


def _start(run: JobContext, spans: Spans, watch: TopicWatch) -> tuple[StreamingQuery, Ingest]:
    """Start the query at bronze's offsets, with or without a usable checkpoint."""
    checkpoint = Checkpoint.of_ingest(run.settings)
    if watch.has_other_topics:
        require_side_topics(run)
    upcoming = watch.start()
    commit, kept = watch.commit, watch.is_checkpoint_usable  # a new topic may have been found
    if run.once:  # a continuous run has no end
        run.report_backlog(_waiting(spans, upcoming))
    if not kept:
        checkpoint.quarantine()
    checkpoint.note_recoveries(watch.recoveries)
    committed = int(str(commit["version"])) if kept and commit else -1
    sink = Ingest(run, lambda: str(checkpoint.query_id), committed, watch)
    sink.complete_ledger()
    starting = "earliest" if kept else starting_offsets(upcoming)
    run.tune_for_batch(SMALL_BATCH_ROWS if run.once else 0)  # batches every few seconds are small
    records = read_records(run.spark, run.settings, starting, batch_rows(run.settings, run.once))
    writer = ingest_records(records, sink.write)
    writer = writer.option("checkpointLocation", str(checkpoint.folder))
    interval = f"{run.settings.trigger_interval.total_seconds()} seconds"
    writer = writer.trigger(availableNow=True) if run.once else writer.trigger(processingTime=interval)
    return writer.start(), sink


def _drive(run: JobContext, query: StreamingQuery, sink: Ingest) -> None:
    """Wait until the query ends, or stop it between two micro-batches when asked."""
    pulse = HeartbeatTimer(None if run.once else run.settings.heartbeat_interval)
    while not query.awaitTermination(_POLL_SECONDS):  # raises the error of a failed query
        status = query.status
        if status["isTriggerActive"]:
            continue
        if run.stop.is_set():
            query.stop()
        elif _is_idle(status) and pulse.is_due(time.monotonic(), sink.arrived):
            with suppress(KafkaError):  # a broker that is down gets the next one
                send_heartbeat(run.settings, now())


def _is_idle(status: dict[str, Any]) -> bool:
    """Whether the query has found no more records."""
    return not status["isDataAvailable"] and not status["message"].startswith("Initializing")


def _waiting(spans: Spans, upcoming: Mapping[str, Mapping[int, int]]) -> int:
    """Approximate number of records that bronze lacks: transactions leave gaps in offsets."""
    return sum(
        max(end - upcoming.get(place.topic, {}).get(place.partition, first), 0)
        for place, (first, end) in spans.items()
    )
