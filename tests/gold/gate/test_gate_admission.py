"""Admission of micro-batches in an application that is the only writer of a home."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gold.gate.gate import Gate
from kit.frames import frame_of
from kit.strict_gate import strict_home
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.quality.gate_log import RELEASED, GateLog
from lakehouse.run.batch_counters import BatchCounter
from lakehouse.run.batch_source import Batch
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.run.ledger_cache import exclusive_ledger
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH

pytestmark = pytest.mark.long

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
STAMPS = datetime(2026, 6, 2, tzinfo=timezone.utc)


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path) -> Iterator[Settings]:
    with strict_home(spark, tmp_path) as settings, exclusive_ledger(settings):
        yield settings


def refine(spark: SparkSession, settings: Settings, number: int, order_id: str | None) -> Batch:
    """Write an order to silver, and return the batch that publish makes of it."""
    lake = Lakehouse(spark, settings, "refine")
    after, upto = (
        (STAMPS + each * timedelta(seconds=1)) if each >= 0 else EPOCH for each in (number - 1, number)
    )
    order: dict[str, Any] = {"goal": "Order Completed", "order_id": order_id, "event_time": AT}
    rows = [{**order, "event_id": f"e{number}", "ingested_at": upto}]
    lake.append("silver.events", frame_of(spark, "silver.events", rows), upto=upto)
    Ledger(lake).record(Entry("refine", number, upto, upto, 1.0, 1, watermark=AT))
    return Batch(number, after, upto, rows=1, upstream_watermark=AT)


def test_held_gate_sees_a_release_without_reading_tables(spark: SparkSession, settings: Settings) -> None:
    run = JobContext("publish", spark.newSession(), settings, once=False)
    gate = Gate(run)
    good = refine(spark, settings, 0, "o-1")
    assert gate.admit(good) == good
    bad = refine(spark, settings, 1, None)
    assert gate.admit(bad) is None
    counter = BatchCounter(run.spark, run.lake.counter)
    assert gate.admit(bad) is None
    counts = counter.counts()
    assert (counts.spark_jobs, counts.table_reads) == (0, 0)
    command = GateLog(Lakehouse(spark.newSession(), settings, "release"))
    held = command.last()
    assert held is not None
    assert (held.after, held.upto) == (bad.after, bad.upto)
    command.write(replace(held, state=RELEASED))
    assert gate.admit(bad) == bad
    assert run.lake.pinned("silver.events") == 2
    worse = refine(spark, settings, 2, None)
    assert gate.admit(worse) is None
    last = command.last()
    assert last is not None
    assert (last.after, last.sequence) == (worse.after, 2)


def test_restarted_publish_is_still_held(spark: SparkSession, settings: Settings) -> None:
    bad = refine(spark, settings, 0, None)
    for _ in range(2):
        gate = Gate(JobContext("publish", spark.newSession(), settings, once=False))
        assert gate.admit(bad) is None
    rows = Lakehouse(spark.newSession(), settings, "test").read("ops.gates").count()
    assert rows == 1


def test_idle_work_waits_until_an_interrupted_batch_is_repeated(
    spark: SparkSession, settings: Settings
) -> None:
    """Gold has a part of the batch: tables by person computed from it would stay as they are then."""
    batch = refine(spark, settings, 0, "o-1")
    lake, done = Lakehouse(spark.newSession(), settings, "publish"), list[str]()
    lake.append("gold.trails", frame_of(spark, "gold.trails", [{"step": 1}]), upto=batch.upto)
    gate = Gate(JobContext("publish", spark.newSession(), settings, once=False))
    idle = gate.idle_if_open(lambda: done.append("idle"))
    idle()
    assert done == []
    Ledger(lake).record(Entry("publish", 0, batch.upto, batch.upto, 1.0, 1, watermark=AT))
    idle()
    assert done == ["idle"]
