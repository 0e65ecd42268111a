"""The maintenance job: what keeps the cost of tables flat."""

import math
import time
from datetime import timedelta
from pathlib import Path

from lakehouse.contracts import LOCKS, TABLES
from lakehouse.delta.compare_and_swap import COLLISIONS
from lakehouse.delta.ddl import exists
from lakehouse.maintenance.clustering import lay_out_again
from lakehouse.maintenance.compaction import compact, fit, keep_replaced, prepare, remove_replaced
from lakehouse.maintenance.retention import retention
from lakehouse.run.job import Run
from lakehouse.run.ledger import Ledger

_LATER = 1 / 28  # of the time that files are kept: by so much they may stay longer
_LOOKED: dict[tuple[Path, str], float] = {}
"""When this process last removed what was replaced: to look takes longest, and is mostly in vain."""


def maintain(run: Run) -> None:
    """Put small files together, lay out grown ones, remove replaced ones; streams go on meanwhile."""
    if not run.settings.catalog:
        prepare(run.spark)
    kept = retention(run.settings.vacuum_retention, Ledger(run.lake).positions())
    there = [name for name in TABLES if exists(run.spark, run.settings, name)]
    run.expect(len(there))
    for name in there:
        if run.stop.is_set():
            return
        _maintain(run, name, kept)


def _maintain(run: Run, name: str, kept: timedelta) -> None:
    """One table, while nobody rewrites it; those that only add rows need not wait."""
    clock = time.monotonic()
    run.lake.read(name)  # known by its name from here
    layer = TABLES[name].layer
    try:
        with run.turn, run.lake.exclusive(LOCKS.get(layer, name)):
            _compact(run, name, kept)
    except COLLISIONS:  # by another application
        run.say(f"{name}: in use, left for the next time")
    table = (run.settings.warehouse, name)
    if clock - _LOOKED.get(table, -math.inf) >= kept.total_seconds() * _LATER:
        remove_replaced(run.spark, name)
        _LOOKED[table] = clock
    run.advance(1, time.monotonic() - clock)


def _compact(run: Run, name: str, kept: timedelta) -> None:
    keep_replaced(run.spark, name, kept)
    if not run.settings.catalog:
        if TABLES[name].is_swapped and (rows := lay_out_again(run.lake, name)):
            run.say(f"{name}: {rows:,} rows laid out by time again")
        fit(run.spark, name)
    done = compact(run.spark, name)
    if done.after != done.before:
        run.say(f"{name}: {done.before} files, {done.after} after")
