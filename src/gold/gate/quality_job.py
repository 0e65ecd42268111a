"""The quality job: Great Expectations on recent rows of silver and gold, its report, and a run in MLflow."""

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.gate.gate_inputs import compare_hours, new_records, new_rows
from gold.gate.mlflow_quality import record_quality
from lakehouse.contracts import TABLES as CONTRACTS
from lakehouse.contracts.ops import ERASED_RECORDS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.quality.gate_log import GateLog
from lakehouse.quality.history import History
from lakehouse.quality.metrics import IS_RECORD
from lakehouse.quality.report import Report
from lakehouse.quality.results import read_history, rows_of, write_results
from lakehouse.quality.sql_conditions import COLUMN_SET
from lakehouse.quality.suites import HOURS, RECORDS, ROWS, Expectation, Suite, load_suites
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger, now
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import EPOCH

MOST_ROWS = 500_000
TICK = timedelta(microseconds=1)
Frames = dict[str, tuple[DataFrame, tuple[Expectation, ...]]]


def check_quality(run: JobContext) -> None:
    """Evaluate all expectations on recent rows, and build the report."""
    began = time.monotonic()
    ledger = Ledger(run.lake)
    recent = ledger.latest("refine", MOST_ROWS)
    if not recent:
        run.log("no rows to evaluate yet: refine comes first")
        return
    upto, begin = recent[-1].position, recent[0].position
    before, _ = ledger.since("refine", begin - TICK)
    after = before.position if before else EPOCH
    watermark = (before.watermark if before else None) or EPOCH
    run.report_backlog(sum(entry.input_rows for entry in recent))
    with run.slot:
        frames = _frames(run, after, upto, watermark, recent)
        history = _history(run.lake, frames)
        parameters = {"records": _arrived(recent) - count_erased(run.lake, frames[RECORDS][0], after, upto)}
    report = Report(run.settings.quality)
    # without the slot: this takes long on checkpointed frames, and other jobs should not wait
    frames = {name: each for name, each in frames.items() if each[1]}
    results = report.validate(frames, f"{now():%Y-%m-%d %H:%M:%S}", parameters, history)
    with run.slot:
        write_results(run.lake, rows_of("quality", after, upto, results))
    record_quality(run, after, upto, recent, results)
    failed = sum(not result.success for result in results)
    run.log(f"{failed} of {len(results)} expectations failed; the report: {report.page}")
    run.report_batch(sum(entry.input_rows for entry in recent), time.monotonic() - began)


def count_erased(lake: Lakehouse, records: DataFrame, after: datetime, upto: datetime) -> int:
    """Number of records of events that refine has counted, and that an erasure has removed since.

    An erasure lists records before it deletes their rows: those that are still there are not counted.

    Args:
        lake: the tables.
        records: all records of silver in the range.
        after: ingest stamp, excluded.
        upto: ingest stamp, included.
    """
    others = (*lake.settings.side_topics, lake.settings.shop_changes_topic)
    is_counted = (F.col("record_class") != "arrived") & ~F.col("topic").isin(*others)
    listed = lake.read(ERASED_RECORDS.name).where(stamped_within(after, upto) & is_counted)
    return listed.join(records, list(ERASED_RECORDS.key), "left_anti").count()


def _arrived(entries: Iterable[Entry]) -> int:
    return sum(entry.input_rows - entry.heartbeats - entry.erased for entry in entries)


def _history(lake: Lakehouse, frames: Frames) -> History:
    every = [each for _, expectations in frames.values() for each in expectations]
    return read_history(lake, every, GateLog(lake).released())


def _frames(
    run: JobContext, after: datetime, upto: datetime, before: datetime, recent: list[Entry]
) -> Frames:
    """By suite, recent rows and their expectations."""
    suites = load_suites(run.settings.conf)
    records = checkpoint(new_records(run.lake, after, upto, suites))
    frames: Frames = {
        name: (checkpoint(new_rows(run.lake, name, after, upto, before, suite)), _as_it_is(suite))
        for name, suite in suites.items()
    }
    every = tuple(each for suite in suites.values() for each in suite.expectations)
    frames[RECORDS] = records.where(IS_RECORD), _of(every, RECORDS)
    marks = [entry.watermark for entry in recent if entry.watermark]
    hours = compare_hours(run.lake, before, max(marks)) if marks else None
    if hours is not None:
        frames[HOURS] = checkpoint(hours), _of(every, HOURS)
    return frames


def _of(expectations: tuple[Expectation, ...], what: str) -> tuple[Expectation, ...]:
    return tuple(each for each in expectations if each.of == what)


def _as_it_is(suite: Suite) -> tuple[Expectation, ...]:
    """Expectations on rows, with the computed columns among the expected columns.

    Great Expectations counts the fields of structs as columns, so a table with structs may have more columns.
    """
    declared = CONTRACTS[suite.table]
    is_flat = not any("struct" in column.type for column in declared.columns)
    more = {"column_set": [*declared.column_names, *suite.columns], "exact_match": is_flat}
    return tuple(
        replace(each, arguments={**each.arguments, **more}) if each.kind == COLUMN_SET else each
        for each in _of(suite.expectations, ROWS)
    )
