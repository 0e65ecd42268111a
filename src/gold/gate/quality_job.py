"""The quality job: Great Expectations on recent rows of silver and gold, its report, and a run in MLflow."""

import time
from dataclasses import replace
from datetime import datetime, timedelta

from pyspark.sql import DataFrame

from gold.gate.gate_inputs import compare_hours, new_records, new_rows
from gold.gate.mlflow_quality import record_quality
from lakehouse.contracts import TABLES as CONTRACTS
from lakehouse.quality.metrics import IS_RECORD
from lakehouse.quality.report import Report
from lakehouse.quality.results import rows_of, write_results
from lakehouse.quality.sql_conditions import COLUMN_SET
from lakehouse.quality.suites import HOURS, RECORDS, ROWS, Expectation, Suite, load_suites
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger, now
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
    parameters = {
        "records": sum(entry.input_rows - entry.heartbeats - entry.erased for entry in recent),
    }
    report = Report(run.settings.quality)
    # without the slot: this takes long on checkpointed frames, and other jobs should not wait
    results = report.validate(frames, f"{now():%Y-%m-%d %H:%M:%S}", parameters)
    with run.slot:
        write_results(run.lake, rows_of("quality", after, upto, results))
    record_quality(run, after, upto, recent, results)
    failed = sum(not result.success for result in results)
    run.log(f"{failed} of {len(results)} expectations failed; the report: {report.page}")
    run.report_batch(sum(entry.input_rows for entry in recent), time.monotonic() - began)


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
    frames["records"] = records.where(IS_RECORD), _of(every, RECORDS)
    marks = [entry.watermark for entry in recent if entry.watermark]
    hours = compare_hours(run.lake, before, max(marks)) if marks else None
    if hours is not None:
        frames["hours"] = checkpoint(hours), _of(every, HOURS)
    return {name: (frame, expected) for name, (frame, expected) in frames.items() if expected}


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
