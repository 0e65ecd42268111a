"""One event in twenty is hours late, and Spark's own counters of dropped rows stay at 0.

Only ingest runs a streaming query of Spark. Refine and repair follow the ledger and start none; the listener
is attached to their Spark sessions too, so that a query of theirs would be counted. A last test shows that
the counters rise on the same records when Spark does drop late rows.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from bronze.job import ingest
from bronze.kafka import read_records
from kit.home import Home
from kit.oracle import DELAY, Oracle
from kit.oracle_wire import Fields, micros
from kit.pipeline import assert_as_the_oracle, read_rows
from kit.polling import eventually
from kit.progress import Listener, rows_dropped
from kit.records import Record, Stored
from kit.sample import sample
from kit.spark import empty_home
from kit.stored_records import stored_records
from kit.topics import Topic, open_topic
from lakehouse.contracts import TABLES
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from silver.refine_job import refine
from silver.repair_job import repair

JOBS: dict[str, Callable[[JobContext], None]] = {"ingest": ingest, "refine": refine, "repair": repair}
EVENTS, CHUNKS, DELAYED_SHARE = 3_000, 5, 0.08
SESSION_TYPES = ("page", "screen", "track")
EXPOSURE_ROLES = {
    "silver.impressions": ("impression", "click"),
    "silver.searches": ("search", "result_click"),
}

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
"""RocksDB's, the default, does not work with the file system that the application writes with."""


@dataclass(frozen=True)
class JobResults:
    """What the jobs stored of a topic, and the progress reports of Spark."""

    settings: Settings
    sent: int
    stored: list[Stored]
    reports: dict[str | None, list[StreamingQueryProgress]]


def refined(settings: Settings) -> list[Fields]:
    """The ledger's rows of refine, in order."""
    rows = read_rows(settings, "ops.ledger", ("job", "batch_id", "late", "position"))
    return sorted((row for row in rows if row["job"] == "refine"), key=lambda row: row["batch_id"])


def expected_late_events(job_results: JobResults) -> list[Fields]:
    """The events at or before the watermark of the preceding micro-batches."""
    stamps = {(each.record.partition, each.offset): micros(each.ingested_at) for each in job_results.stored}
    events = [
        (stamps[each["partition"], each["offset"]], each) for each in Oracle.over(job_results.stored).events
    ]
    late, watermark, done = [], -1, 0  # no event is of a time before 1970
    for row in refined(job_results.settings):
        batch = [event for stamp, event in events if done < stamp <= row["position"]]
        late += [event for event in batch if event["event_time"] <= watermark]
        watermark = max([watermark, *(event["event_time"] - DELAY for event in batch)])
        done = row["position"]
    return late


def chunks() -> list[list[Record]]:
    """The sample's events in order, some of them delayed by two chunks."""
    events = [each for each in sample(EVENTS) if each.topic == "events"]
    chance, size = random.Random(3), EVENTS // CHUNKS
    found: list[list[Record]] = [[] for _ in range(CHUNKS)]
    for number, each in enumerate(events):
        chunk = number // size
        is_delayed = chunk + 2 < CHUNKS and chance.random() < DELAYED_SHARE
        found[chunk + 2 if is_delayed else chunk].append(each)
    return found


@contextmanager
def running(spark: SparkSession, settings: Settings, listener: Listener) -> Iterator[None]:
    """Run the jobs concurrently during the block, each with a thread and a Spark session of its own."""
    stop, failed = threading.Event(), []

    def keep_running(job: str) -> None:
        try:
            JOBS[job](JobContext(job, listener.new_session(spark), settings, once=False, stop=stop))
        except Exception as error:  # noqa: BLE001 - asserted by the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=keep_running, args=(job,), name=job) for job in JOBS]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(120)
    assert not failed


def rows_read(settings: Settings, job: str) -> int:
    ledger = read_rows(settings, "ops.ledger", ("job", "input_rows"))
    return sum(row["input_rows"] for row in ledger if row["job"] == job)


def send_chunks(topic: Topic, settings: Settings, listener: Listener) -> int:
    """Send each chunk once refine has processed the previous one; return the count once repair has, too."""

    def have_read(*jobs: str) -> bool:
        return listener.rows_taken() == sent and len({rows_read(settings, job) for job in jobs}) == 1

    sent = 0
    for chunk in chunks():
        topic.send(chunk)
        sent += len(chunk)
        eventually(lambda: have_read("ingest", "refine"), 300, f"{sent} records refined")
    eventually(lambda: have_read("ingest", "refine", "repair"), 300, f"{sent} records repaired")
    return sent


@pytest.fixture(scope="module")
def job_results(spark: SparkSession, new_home: Callable[..., Home]) -> JobResults:
    home, listener = new_home(), Listener()
    empty_home(spark, home.path)
    settings = home.settings.model_copy(update={"trigger_interval": timedelta(seconds=2)})
    with open_topic(home) as topic, running(spark, settings, listener):
        sent = send_chunks(topic, settings, listener)
    return JobResults(settings, sent, stored_records(settings), listener.reports())


@pytest.mark.long
def test_spark_drops_no_rows_in_ingest(job_results: JobResults) -> None:
    assert set(job_results.reports) == {"ingest"}
    assert len(job_results.reports["ingest"]) >= CHUNKS
    assert sum(each.numInputRows for each in job_results.reports["ingest"]) == job_results.sent == EVENTS
    assert sum(rows_dropped(reports) for reports in job_results.reports.values()) == 0


@pytest.mark.long
def test_late_events_are_flagged_and_merged_into_sessions_and_exposures(job_results: JobResults) -> None:
    late, oracle = expected_late_events(job_results), Oracle.over(job_results.stored)
    assert 0.04 < len(late) / len(oracle.events) < 0.07
    assert sum(row["late"] for row in refined(job_results.settings)) == len(late)
    events = read_rows(job_results.settings, "silver.events", ("event_id", "is_late"))
    assert {row["event_id"] for row in events if row["is_late"]} == {event["event_id"] for event in late}
    visited = [event for event in late if is_of_session(event)]
    sessions = read_rows(
        job_results.settings, "silver.sessions", TABLES["silver.sessions"].deterministic_columns
    )
    assert visited
    assert [event for event in visited if not any(contains(session, event) for session in sessions)] == []
    assert sum(row["events"] for row in sessions) == sum(map(is_of_session, oracle.events))
    for table, roles in EXPOSURE_ROLES.items():
        found = {event["event_id"] for event in late if event["role"] in roles}
        pieces = {
            piece["event_id"]
            for row in read_rows(job_results.settings, table, ("made_of",))
            for piece in row["made_of"]
        }
        assert found
        assert found - pieces == set()
    assert_as_the_oracle(job_results.settings, oracle, "silver")


def is_of_session(event: Fields) -> bool:
    return event["type"] in SESSION_TYPES and not event["is_server_event"]


def contains(session: Fields, event: Fields) -> bool:
    theirs = session["visitor_id"] == event["visitor_id"]
    return theirs and session["started_at"] <= event["event_time"] <= session["ended_at"]


@pytest.mark.long
def test_spark_watermark_deduplication_counts_dropped_late_rows(
    spark: SparkSession, job_results: JobResults, tmp_path: Path
) -> None:
    listener = Listener()
    settings = job_results.settings.model_copy(update={"max_batch_rows": EVENTS // CHUNKS // 3})
    session = listener.new_session(spark)
    session.conf.set("spark.sql.streaming.stateStore.providerClass", STATE_STORE)
    records = read_records(session, settings, "earliest", settings.max_batch_rows)
    waiting = records.withWatermark("timestamp", "10 minutes")
    rows = waiting.dropDuplicates(["topic", "partition", "offset", "timestamp"])
    writer = rows.writeStream.queryName("forgetful").format("noop").trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination()
    (reports,) = listener.reports().values()
    assert sum(each.numInputRows for each in reports) == job_results.sent
    assert rows_dropped(reports) > len(expected_late_events(job_results)) / 2
