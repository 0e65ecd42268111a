"""The maintenance job: compaction, expiry and VACUUM."""

import math
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

from lakehouse.contracts import LOCKS, TABLES
from lakehouse.delta.compare_and_swap import COLLISIONS
from lakehouse.delta.ddl import exists
from lakehouse.delta.log_files import VersionTakenError
from lakehouse.maintenance.compaction import (
    compact,
    configure_session,
    delete_expired,
    set_retention,
    vacuum,
)
from lakehouse.maintenance.retention import retention
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger

_VACUUM_INTERVAL_SHARE = 1 / 28  # of the retention
_VACUUMED_AT: dict[tuple[Path, str], float] = {}
"""Monotonic time of this process's last expiry and VACUUM, by warehouse and table.

VACUUM lists all files, which is slow and mostly finds little to remove.
"""


def maintain(run: JobContext) -> None:
    """Compact and vacuum all tables while the streaming jobs run."""
    if not run.settings.catalog:
        configure_session(run.spark)
    kept = retention(run.settings.vacuum_retention, Ledger(run.lake).positions())
    there = [name for name in TABLES if exists(run.spark, run.settings, name)]
    run.report_backlog(len(there))
    for name in there:
        if run.stop.is_set():
            return
        _maintain(run, name, kept)


def _maintain(run: JobContext, name: str, kept: timedelta) -> None:
    """Maintain one table; compaction holds its lock, for which jobs that commit to it wait."""
    clock = time.monotonic()
    layer = TABLES[name].layer
    try:
        with run.slot, run.lake.exclusive(LOCKS.get(layer, name)):
            _compact(run, name, kept)
    except (*COLLISIONS, VersionTakenError):  # by another application
        run.log(f"{name}: in use, skipped until the next run")
    table = (run.settings.warehouse, name)
    if clock - _VACUUMED_AT.get(table, -math.inf) >= kept.total_seconds() * _VACUUM_INTERVAL_SHARE:
        delete_expired(run.lake, name, datetime.now(timezone.utc))
        vacuum(run.lake, name)
        _VACUUMED_AT[table] = clock
    run.report_batch(1, time.monotonic() - clock)


def _compact(run: JobContext, name: str, kept: timedelta) -> None:
    set_retention(run.lake, name, kept, run.settings.feed_retention)
    done = compact(run.lake, name)
    if done.after != done.before:
        run.log(f"{name}: {done.before} files compacted to {done.after}")
