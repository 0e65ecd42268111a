"""The state of the gate before gold, and the latest results of expectations for each table.

No other module of the application reads gates.
"""

from dataclasses import dataclass
from datetime import datetime

import polars as pl
from tables.query import Measure, Query
from tables.table_cache import Ask

OPEN, CLOSED, NO_GATES = "Gate open", "Gate closed", "No gates yet"

_SHUT = ("closed", "replayed")  # states of ops.gates in which the gate is closed
_MILD = ("warn", "warning", "info")  # severities that do not close the gate
_COLUMNS = (
    *("run_id", "table", "name", "expectation", "column", "success", "severity"),
    *("observed", "unexpected_count", "rows"),
)


@dataclass(frozen=True)
class Gates:
    """The state of the gate before gold.

    Args:
        word: `OPEN`, `CLOSED` or `NO_GATES`.
        reasons: why it is closed.
        since: when this state began, or when expectations were last evaluated (UTC).
        warnings: number of failed expectations that do not close the gate.
    """

    word: str = NO_GATES
    reasons: tuple[str, ...] = ()
    since: datetime | None = None
    warnings: int = 0


def read_gates(ask: Ask) -> Gates:
    """The state of the gate: the last row of ops.gates, else from the latest results of expectations."""
    latest = latest_results(ask)
    failed = latest.filter(~pl.col("success"))
    mild = failed["severity"].is_in(_MILD)
    warnings = int(mild.sum())
    last = ask(Query("ops.gates", ("state", "reasons", "at"), order=("-sequence",), limit=1)).to_dicts()
    if last:
        shut = last[0]["state"] in _SHUT
        reasons = tuple(last[0]["reasons"] or ()) if shut else ()
        return Gates(CLOSED if shut else OPEN, reasons, last[0]["at"], warnings)
    if latest.is_empty():
        return Gates()
    stopped = failed.filter(~mild)
    reasons = tuple(f"{table}: {name}" for table, name in stopped.select("table", "name").iter_rows())
    looked_at: datetime = latest["run_at"].max()  # type: ignore[assignment]
    return Gates(CLOSED if reasons else OPEN, reasons, looked_at, warnings)


def latest_results(ask: Ask) -> pl.DataFrame:
    """The latest row of ops.expectations for each expectation, failed ones first. Old rows have no name."""
    named = pl.coalesce("name", "expectation").alias("name")
    columns = ("table", "name", "expectation", "run_id")
    runs = ask(Query("ops.expectations", columns, (Measure("run_at", "max", "run_at"),))).with_columns(named)
    last = runs.sort("run_at").unique(["table", "name"], keep="last").select("table", "name", "run_id")
    query = Query("ops.expectations", (*_COLUMNS, "run_at"))
    found = ask(query.only("run_id", "in", tuple(sorted(set(last["run_id"]))))).with_columns(named)
    return found.join(last, on=["table", "name", "run_id"], how="semi").sort(
        "success", "table", "name", "column", nulls_last=True
    )
