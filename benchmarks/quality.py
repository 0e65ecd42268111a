"""What share of publish's micro-batch does the gate cost? And does the gate stay open on a normal day?

The day is sample traffic with its usual copies, late events and broken records.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.bench import application, print_table, progress
from gold.gate import gate
from gold.publish import Publish, PublishRules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.time_travel import PinnedTables
from lakehouse.run.batch_counters import BatchCounter
from lakehouse.run.batch_source import Batch
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.run.ledger_cache import exclusive_ledger
from lakehouse.run.microbatch import run_microbatches
from lakehouse.settings import Settings
from millrace.sample_shop.traffic_stream import generate
from silver.refine_job import refine
from silver.repair_job import repair

WANTED = 0.2  # maximum share of the micro-batch's time
SIZES = (5_000, 50_000, 300_000)
_STAMP = datetime(2026, 6, 2, tzinfo=timezone.utc)
_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("value", pa.binary()),
        ("ingested_at", pa.timestamp("us", tz="UTC")),
    ]
)

_NOTHING = (
    "CAST(NULL AS binary) AS key",
    "CAST(NULL AS array<struct<key: string, value: binary>>) AS headers",
)


def fill_bronze(spark: SparkSession, settings: Settings, sizes: Sequence[int]) -> None:
    """Fill bronze as ingest would: one commit per size, with consecutive records of one traffic."""
    lake = Lakehouse(spark.newSession(), settings, "ingest")
    records, offset = generate(7, sum(sizes)), 0
    for number, size in enumerate(sizes):
        stamp = _STAMP + timedelta(seconds=number)
        rows = []
        for record in (next(records) for _ in range(size)):
            place = {"topic": "events", "partition": 0, "offset": offset, "ingested_at": stamp}
            rows.append({**place, "timestamp": _at(record.value), "value": record.value})
            offset += 1
        frame = spark.createDataFrame(pa.Table.from_pylist(rows, _SCHEMA))
        lake.append(KAFKA_RECORDS.name, frame.selectExpr("*", *_NOTHING))
        Ledger(lake).record(Entry("ingest", number, stamp, stamp, 0.0, size, output_rows=size))
        progress(f"bronze: {offset:,} records")


def _at(value: bytes) -> datetime:
    """The Kafka timestamp of a record: its `receivedAt`, else a time before all other ones."""
    reported = value.partition(b'"receivedAt":"')[2][:23].decode(errors="replace")
    try:
        return datetime.fromisoformat(reported).replace(tzinfo=timezone.utc)
    except ValueError:
        return datetime(2026, 3, 2, tzinfo=timezone.utc)


class Timed:
    """Costs of the gate in a micro-batch: evaluating expectations, and looking up pinned versions.

    Attributes:
        evaluation: seconds of the evaluation.
        versions: seconds of the look-ups.
        spark_jobs: Spark jobs of the evaluation.
    """

    def __init__(self) -> None:
        self.begin()

    def watch(self) -> None:
        """Start timing."""
        gate.Gate.admit = self._counted(self._timed(gate.Gate.admit, "evaluation"))  # type: ignore[method-assign]
        PinnedTables.__call__ = self._timed(PinnedTables.__call__, "versions")  # type: ignore[method-assign]

    def begin(self) -> None:
        """Reset the costs."""
        self.evaluation = self.versions = 0.0
        self.spark_jobs = 0

    def _timed(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            began = time.monotonic()
            try:
                return function(*args)
            finally:
                setattr(self, name, getattr(self, name) + time.monotonic() - began)

        return timed

    def _counted(self, admit: Callable[..., Any]) -> Callable[..., Any]:
        def counted(before_gold: gate.Gate, batch: Batch) -> Batch | None:
            run = before_gold._run  # noqa: SLF001 - the benchmark counts the jobs of its session
            counter = BatchCounter(run.spark, run.lake.counter)
            admitted: Batch | None = admit(before_gold, batch)
            self.spark_jobs += counter.counts().spark_jobs or 0
            return admitted

        return counted


def main() -> int:
    """Run, print, and fail if the gate costs too much or closes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(SIZES))
    sizes = parser.parse_args().rows
    timed = Timed()
    timed.watch()
    with application() as (spark, settings), exclusive_ledger(settings):
        settings = settings.model_copy(update={"max_batch_rows": 1})
        warm = [5_000, 5_000]
        fill_bronze(spark, settings, [*warm, *sizes])
        run = JobContext("publish", spark.newSession(), settings, once=False)
        process, before_gold = Publish(run, lambda: PublishRules.load(settings.conf)), gate.Gate(run)
        rows = []
        for number, size in enumerate([*warm, *sizes]):
            _through(spark, settings, number)
            timed.begin()
            _publish(run, process, before_gold)
            last = Ledger(run.lake).last("publish")
            assert last is not None
            of_gate, all_of_it = timed.evaluation + timed.versions, timed.evaluation + last.seconds
            if number >= len(warm):
                share = f"{of_gate / all_of_it:.1%}"
                seconds = (f"{each:.2f}" for each in (timed.evaluation, timed.versions, all_of_it))
                rows.append((f"{size:,}", str(timed.spark_jobs), *seconds, share))
                progress(
                    f"{size:,} rows: {of_gate:.2f} s of {all_of_it:.2f} s; load {os.getloadavg()[0]:.1f}"
                )
        closed = Lakehouse(spark.newSession(), settings, "bench").read("ops.gates").count()
        failed = _failed(spark, settings)
    names = ("rows", "Spark jobs", "evaluation, s", "versions, s", "micro-batch, s", "gate's share")
    print_table("The gate's cost", names, rows)
    print(f"gates closed: {closed}; expectations that failed: {', '.join(failed) or 'none'}")
    return int(closed > 0 or any(float(row[-1].rstrip("%")) > WANTED * 100 for row in rows))


def _through(spark: SparkSession, settings: Settings, number: int) -> None:
    """Run refine and repair on one commit of bronze."""
    upto = _STAMP + timedelta(seconds=number)
    for job, body in (("refine", refine), ("repair", repair)):
        run = JobContext(job, spark.newSession(), settings, once=True)
        last = Ledger(run.lake).last(job)
        if last is None or last.position < upto:
            _one_batch(run, body)


def _publish(run: JobContext, process: Publish, before_gold: gate.Gate) -> None:
    """Run one micro-batch of publish on the new rows of silver."""

    def one_batch(run: JobContext) -> None:
        run_microbatches(run, "refine", process, side_input="repair", gate=before_gold.admit)

    run.stop.clear()
    _one_batch(run, one_batch)


def _one_batch(run: JobContext, body: Callable[[JobContext], None]) -> None:
    run.listener.report_batch = lambda *_: run.stop.set()  # type: ignore[method-assign]
    body(run)


def _failed(spark: SparkSession, settings: Settings) -> list[str]:
    rows = Lakehouse(spark.newSession(), settings, "bench").read("ops.expectations").where("NOT success")
    return sorted({f"{row.table}: {row.name}" for row in rows.select("table", "name").distinct().collect()})


if __name__ == "__main__":
    sys.exit(main())
