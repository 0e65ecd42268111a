"""Fills a home with generated history, as the jobs would have written it."""

import time

from benchmarks.attribution_traffic import BATCH, END, History, records_of, sessions_of, stamp_of
from benchmarks.bench import progress
from gold.rebuild_definitions import DEFINITIONS, RebuildInputs
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.run.rebuild import rebuild_job

BY_PERSON = (TOUCHES.name, ATTRIBUTION.name, TRAILS.name, CONVERSIONS.name)


def fill(run: JobContext, history: History) -> None:
    """Write events and sessions, and rebuild touches, conversions, credit and minutes from them."""
    started = time.monotonic()
    events = history.events()
    for name, rows in ((EVENTS.name, events), (SESSIONS.name, sessions_of(events))):
        run.lake.overwrite(name, rows)
    mark_processed(run.lake, history)
    rebuild = JobContext("rebuild", run.spark, run.settings, once=True)
    rebuild_job(DEFINITIONS, BY_PERSON).body(rebuild)
    inputs = RebuildInputs(rebuild)
    inputs.append_minutes(inputs.minutes())
    counts = {
        name: run.lake.read(name).count() for name in (TOUCHES.name, CONVERSIONS.name, ATTRIBUTION.name)
    }
    reported = ", ".join(f"{name} {rows:,}" for name, rows in counts.items())
    progress(f"{reported}, in {time.monotonic() - started:.0f} s")


def mark_processed(lake: Lakehouse, history: History) -> None:
    """Write ledger rows of a micro-batch with all of the history."""
    for job in ("refine", "repair", "publish"):
        entry = Entry(job, 0, stamp_of(0), stamp_of(0), 0.0, history.visits, watermark=END)
        Ledger(lake).record(entry)


def ingest_batch(lake: Lakehouse, history: History, number: int) -> None:
    """Write a micro-batch to bronze, and its ledger row of ingest.

    Args:
        lake: opened as the job ingest.
        history: what is behind the micro-batch.
        number: number of the micro-batch, from 1.
    """
    stamp = stamp_of(number)
    lake.append(KAFKA_RECORDS.name, records_of(history.batch(number)), upto=stamp)
    Ledger(lake).record(Entry("ingest", number, stamp, stamp, 0.0, BATCH, BATCH))
