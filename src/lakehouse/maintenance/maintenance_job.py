"""The maintenance job: compaction, expiry and VACUUM."""

import math
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from lakehouse.contracts import LOCKS, TABLES
from lakehouse.delta.compare_and_swap import COLLISIONS
from lakehouse.delta.ddl import exists
from lakehouse.maintenance.compaction import (
    MaintainedTable,
    delete_expired,
    maintained_table,
    set_file_size,
    set_retention,
    set_statistics,
)
from lakehouse.maintenance.predictive_optimization import optimized_schemas
from lakehouse.maintenance.retention import twice_the_lag
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger

_VACUUM_INTERVAL_SHARE = 1 / 28  # of the retention
_VACUUMED_AT: dict[tuple[Path, str], float] = {}
"""Monotonic time of this process's last expiry and VACUUM, by warehouse and table.

VACUUM lists all files, which is slow and mostly finds little to remove.
"""


class Retention(NamedTuple):
    """How long removed files are kept, and log entries of silver and gold."""

    files: timedelta
    log: timedelta


def maintain(run: JobContext) -> None:
    """Compact and vacuum tables while the streaming jobs run; a workspace may do this for some schemas."""
    least = twice_the_lag(Ledger(run.lake).positions())
    kept = Retention(max(run.settings.vacuum_retention, least), max(run.settings.feed_retention, least))
    there = [name for name in TABLES if exists(run.spark, run.settings, name)]
    optimized = optimized_schemas(run.spark, run.settings, {TABLES[name].layer for name in there})
    if optimized:
        run.log(f"predictive optimization compacts and vacuums {', '.join(sorted(optimized))}")
    run.report_backlog(len(there))
    for name in there:
        if run.stop.is_set():
            return
        _maintain(run, name, kept, is_optimized=TABLES[name].layer in optimized)


def _maintain(run: JobContext, name: str, kept: Retention, *, is_optimized: bool) -> None:
    """Maintain one table; compaction holds its lock, for which jobs that commit to it wait."""
    clock = time.monotonic()
    table = maintained_table(run.lake, name)
    try:
        with run.slot, run.lake.exclusive(*LOCKS.get(TABLES[name].layer, (name,))):
            set_retention(table, name, kept.files, kept.log)
            set_statistics(table, name)
            if is_optimized:
                set_file_size(table, name)
            else:
                _compact(run, table, name)
    except COLLISIONS:  # by another application
        run.log(f"{name}: in use, skipped until the next run")
    key = (run.settings.warehouse, name)
    if clock - _VACUUMED_AT.get(key, -math.inf) >= kept.files.total_seconds() * _VACUUM_INTERVAL_SHARE:
        delete_expired(table, name, datetime.now(timezone.utc))
        if not is_optimized:
            table.vacuum()
        _VACUUMED_AT[key] = clock
    run.report_batch(1, time.monotonic() - clock)


def _compact(run: JobContext, table: MaintainedTable, name: str) -> None:
    done = table.compact()
    if done.after != done.before:
        run.log(f"{name}: {done.before} files compacted to {done.after}")
