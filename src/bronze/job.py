"""The ingest job: real Kafka, real checkpoint."""

import time
from contextlib import suppress
from typing import Any

from kafka.errors import KafkaError
from pyspark.sql.streaming import StreamingQuery

from bronze.checkpoint import Checkpoint
from bronze.heartbeats import Pulse
from bronze.ingest import Ingest, ingest_records
from bronze.kafka import Spans, offset_spans, read_records, send_heartbeat
from bronze.offsets import next_offsets
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.job import Run
from lakehouse.ledger import Ledger, now
from lakehouse.tuning import MANY

_POLL_SECONDS = 1


def ingest(run: Run) -> None:
    """Take the records of the subscribed topics into bronze, exactly once."""
    spans = offset_spans(run.settings)
    while not spans:  # no topic yet: nothing to read, and nothing wrong
        if run.once or run.stop.wait(run.settings.trigger_interval.total_seconds()):
            return
        spans = offset_spans(run.settings)
    if run.once:  # else there is no end to tell the way to
        run.expect(_waiting(run, spans))
    query, sink = _start(run, spans)
    _drive(run, query, sink)


def _start(run: Run, spans: Spans) -> tuple[StreamingQuery, Ingest]:
    """Start the query where bronze stands, whatever became of the checkpoint."""
    checkpoint = Checkpoint.of_ingest(run.settings)
    commit = run.lake.last_commit(KAFKA_RECORDS.name)
    kept = checkpoint.goes_with(commit.get("app"), commit.get("version"))
    if not kept:
        checkpoint.set_aside()
    committed = int(str(commit["version"])) if kept and commit else -1
    sink = Ingest(run, lambda: str(checkpoint.query_id), committed)
    sink.settle()
    starting = next_offsets(run.lake.read(KAFKA_RECORDS.name), list(spans)) if not kept else "earliest"
    run.prepare_for(MANY if run.once else 0)  # what comes every few seconds is little
    writer = ingest_records(read_records(run.spark, run.settings, starting), sink.write)
    writer = writer.option("checkpointLocation", str(checkpoint.folder))
    interval = f"{run.settings.trigger_interval.total_seconds()} seconds"
    writer = writer.trigger(availableNow=True) if run.once else writer.trigger(processingTime=interval)
    return writer.start(), sink


def _drive(run: Run, query: StreamingQuery, sink: Ingest) -> None:
    """Wait for the end, or stop between two micro-batches when asked."""
    pulse = Pulse(None if run.once else run.settings.heartbeat_interval)
    while not query.awaitTermination(_POLL_SECONDS):  # raises what the query failed of
        status = query.status
        if status["isTriggerActive"]:
            continue
        if run.stop.is_set():
            query.stop()
        elif _is_idle(status) and pulse.is_due(time.monotonic(), sink.arrived):
            with suppress(KafkaError):  # a broker that is away gets the next one
                send_heartbeat(run.settings, now())


def _is_idle(status: dict[str, Any]) -> bool:
    """Whether the query has looked, and found nothing more to read."""
    return not status["isDataAvailable"] and not status["message"].startswith("Initializing")


def _waiting(run: Run, spans: Spans) -> int:
    """Records in Kafka that bronze doesn't hold yet, about: transactions leave gaps."""
    sent = sum(end - first for first, end in spans.values())
    return max(sent - Ledger(run.lake).rows_read(run.job), 0)
