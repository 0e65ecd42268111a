"""Heartbeats advance the watermark of an idle topic if they are configured."""

import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from bronze.heartbeats import HeartbeatTimer
from bronze.job import ingest
from bronze.kafka import offset_spans
from kit.pipeline import read_rows, run_jobs
from kit.polling import eventually
from kit.records import message, record
from kit.spark import empty_home
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings, load_settings
from millrace.clients.manifest import new_manifest
from millrace.clients.record import Record
from millrace.clients.sender import Sender


def test_heartbeat_is_due_once_per_interval_without_records() -> None:
    timer = HeartbeatTimer(timedelta(seconds=10))
    beats = [at for at in range(100, 160) if timer.is_due(float(at), 125.0 if at >= 125 else 100.0)]
    assert beats == [110, 120, 135, 145, 155]


def test_heartbeat_is_never_due_without_interval() -> None:
    assert not HeartbeatTimer(None).is_due(1e9, 0.0)


def test_zero_heartbeat_interval_is_rejected() -> None:
    with pytest.raises(MillraceError, match="heartbeat_interval"):
        load_settings(heartbeat_interval="PT0S")


def end_of(settings: Settings) -> int:
    return sum(end for _, end in offset_spans(settings).values())


def sessions(settings: Settings) -> list[dict[str, Any]]:
    return read_rows(settings, "silver.sessions", ("visitor_id", "is_open"))


@pytest.mark.long
def test_heartbeats_close_sessions_of_idle_topic(spark: SparkSession, broker: Any, tmp_path: Path) -> None:
    more = {"kafka_bootstrap": broker.bootstrap, "events_topic": f"events-{uuid4().hex}"}
    settings = empty_home(spark, tmp_path, trigger_interval="PT1S", heartbeat_interval="PT2S", **more)
    manifest = new_manifest(tmp_path, "test", "test", settings.events_topic)
    started = datetime.now(timezone.utc)
    page = record(message("a", "v", at=started - timedelta(hours=1)))
    with Sender(broker.bootstrap, manifest, lambda _: None) as sender:
        sender.send(Record(key=b"v", value=page.value or b""))
        sender.finish(hurried=False)

    def run_once() -> None:
        ingest(JobContext("ingest", spark.newSession(), settings, once=True))
        run_jobs(spark, settings, "refine", "repair")

    run_once()
    assert end_of(settings) == 1
    assert sessions(settings) == [{"visitor_id": "v", "is_open": True}]

    def rows_of_bronze() -> int:
        return len(read_rows(settings, "bronze.kafka_records", ("offset",)))

    stop = threading.Event()
    run = JobContext("ingest", spark.newSession(), settings, once=False, stop=stop)
    running = threading.Thread(target=ingest, args=(run,))
    running.start()
    try:
        eventually(lambda: rows_of_bronze() >= 3, 120, "two beats")
    finally:
        stop.set()
        running.join(60)
    assert not running.is_alive()
    run_once()
    beats = end_of(settings) - 1
    run_once()
    assert end_of(settings) == beats + 1  # a run with once=True sends no heartbeat

    rows = read_rows(settings, "bronze.kafka_records", ("value", "headers"))
    headers = [row["headers"] for row in rows if row["value"] is None]
    assert len(headers) == beats
    times = [datetime.fromisoformat(each[0]["value"].decode().replace("Z", "+00:00")) for each in headers]
    assert all(started < time < datetime.now(timezone.utc) for time in times)
    assert sessions(settings) == [{"visitor_id": "v", "is_open": False}]
    ledger = read_rows(settings, "ops.ledger", ("job", "heartbeats"))
    assert sum(row["heartbeats"] for row in ledger if row["job"] == "refine") == beats
