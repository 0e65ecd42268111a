"""How far each table is behind bronze."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH, as_utc, from_micros
from millrace.tables.table_reader import last_commit

SUMMARIZED = (TRAFFIC, VISITOR_MINUTES)
"""Tables whose high-water marks tell whether summaries are up to date."""

Marks = Mapping[str, datetime]
"""By job or table, the ingest stamp that it is complete through."""


def high_water_mark(settings: Settings, table: Table) -> datetime:
    """The ingest stamp of the last commit to a table by its writer; 1970 if its log has none."""
    mark = last_commit(settings, table.name, table.writer).get("upto")
    return EPOCH if mark is None else from_micros(mark)


def freshness(ledger: Mapping[str, Mapping[str, Any]], marks: Marks) -> dict[str, float]:
    """By table of a continuous job, how far it is behind bronze, in seconds of ingest time.

    Args:
        ledger: by job, its `position`, the ingest stamp that it has processed through.
        marks: high-water marks of `SUMMARIZED`.
    """
    jobs = {job: as_utc(sums["position"]) for job, sums in ledger.items() if sums.get("position")}
    arrived = jobs.get(KAFKA_RECORDS.writer)
    wanted = [each for each in TABLES.values() if each.stale_after is not None and each.writer in jobs]
    if arrived is None:
        return {}
    behind = {each.name: arrived - _complete_through(each, jobs, marks) for each in wanted}
    return {name: round(max(span.total_seconds(), 0.0), 1) for name, span in behind.items()}


def _complete_through(table: Table, jobs: Marks, marks: Marks) -> datetime:
    """The ingest stamp that a table is complete through; a batch that changes no row does not commit to it.

    Summaries follow gold.visitor_minutes. gold.traffic is written last of them.
    """
    summarized = marks[TRAFFIC.name]
    if table.cadence == "summary" and marks[VISITOR_MINUTES.name] > summarized:
        return summarized
    return jobs[table.writer]
