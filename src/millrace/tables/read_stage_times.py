"""Reads times per stage from the tables of a home."""

from datetime import datetime, timezone
from typing import Any

import polars as pl

from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.log_files import marks_after
from lakehouse.settings import Settings
from lakehouse.timestamps import from_micros, to_micros
from millrace.tables.stage_times import (
    EVENT_COLUMNS,
    LEDGER_COLUMNS,
    RECORD_COLUMNS,
    SPAN,
    recent_span,
    stage_times,
)
from millrace.tables.table_reader import scan, table_path

_TIME = pl.Datetime("us", "UTC")


def read_stage_times(settings: Settings) -> list[dict[str, Any]]:
    """Rows of `stage_times`; none before there are records in bronze."""
    ledger, records, events = (
        scan(settings, name) for name in ("ops.ledger", "bronze.kafka_records", "silver.events")
    )
    if ledger is None or records is None:
        return []
    position = pl.col("position")
    jobs = ledger.select(LEDGER_COLUMNS).filter(position >= position.max() - SPAN).collect()
    span = recent_span(jobs)
    if span is None:
        return []
    within = pl.col("ingested_at").is_between(*span)
    recent = records.filter(within).select(RECORD_COLUMNS).collect()
    no_events = pl.LazyFrame(schema={name: recent.schema.get(name, _TIME) for name in EVENT_COLUMNS})
    arrived = no_events if events is None else events.filter(within).select(EVENT_COLUMNS)
    marks = marks_after(table_path(settings, TRAFFIC.name), to_micros(span[0]))
    shown = [(from_micros(mark), from_micros(written)) for mark, written in marks]
    return stage_times(jobs, recent, arrived.collect(), shown, datetime.now(timezone.utc)).to_dicts()
