"""Rebuilds tables: each is computed from its inputs and replaced in one commit.

Jobs that write tables of the same layer wait, and catch up afterwards; others keep running.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame

from lakehouse.contracts import LOCKS, TABLES
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.lineage import downstream_of
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger, now
from lakehouse.timestamps import EPOCH


@dataclass(frozen=True)
class TableDefinition:
    """How to compute a table from its inputs.

    Args:
        compute: returns its rows up to exactly the high-water mark of the jobs that write it (see
            `processed_through`): they will append what comes after it, and won't repeat what comes before.
        write: replaces the rows, where that takes more than one commit to one table.
        side_outputs: further tables that `write` commits to.
    """

    compute: Callable[[JobContext], DataFrame]
    write: Callable[[JobContext, DataFrame], None] | None = None
    side_outputs: tuple[str, ...] = ()


Definitions = Mapping[str, TableDefinition]


def processed_through(run: JobContext, job: str, table: str) -> datetime:
    """The ingest stamp up to which a job's input is in a table, by the ledger or by the table's log.

    The log is ahead of the ledger after an interrupted batch. It keeps the job's commits across a rebuild.
    """
    last = Ledger(run.lake).last(job)
    filled = Lakehouse(run.spark, run.settings, job).high_water_mark(table)
    return max(last.position if last else EPOCH, filled or EPOCH)


def rebuild_job(
    definitions: Definitions,
    tables: Sequence[str],
    before_gold: Callable[[JobContext], None] = lambda _: None,
) -> Job:
    """The job that rebuilds tables, in the order of their definitions.

    Args:
        definitions: of all tables that can be rebuilt.
        tables: the tables to rebuild.
        before_gold: called before the first table of gold, after those of silver.

    Raises:
        MillraceError: for a table that can't be rebuilt.
    """
    for name in tables:
        if name not in definitions:
            raise MillraceError(
                f"{name} is not a table that can be rebuilt", f"Tables that can be: {', '.join(definitions)}"
            )
    chosen = {name: definition for name, definition in definitions.items() if name in tables}
    return Job("rebuild", lambda run: _rebuild_all(run, chosen, before_gold))


def stale_after(definitions: Definitions) -> list[str]:
    """Tables that are stale after these were rebuilt: downstream ones that were not written as well."""
    written = {table for definition in definitions.values() for table in definition.side_outputs}
    return [table for table in downstream_of(definitions) if table not in written]


def _rebuild_all(
    run: JobContext, definitions: Definitions, before_gold: Callable[[JobContext], None]
) -> None:
    """Rebuild tables one by one; log which others are stale after that."""
    run.tune_for_batch(max(run.settings.max_batch_rows, run.lake.read(KAFKA_RECORDS.name).count()))
    of_gold = [name for name in definitions if TABLES[name].layer == "gold"]
    for name, definition in definitions.items():
        if name in of_gold[:1]:
            before_gold(run)
        if run.stop.is_set():
            return
        _rebuild(run, name, definition)
    if stale := stale_after(definitions):
        run.log(f"stale now, since computed from the old rows: {', '.join(stale)}")


def _rebuild(run: JobContext, name: str, definition: TableDefinition) -> None:
    run.log(f"{name}: waiting for the current batch")
    with run.slot, run.lake.exclusive(*LOCKS[TABLES[name].layer]):
        if run.stop.is_set():  # set while waiting for the lock
            return
        started_at = now()
        run.log(f"{name}: computing")
        with run.rebuilding(name):
            run.lake.read(name)  # pins the version that the commit is based on; see CompareAndSwap
            rows = definition.compute(run)
            if definition.write:
                definition.write(run, rows)
            else:
                run.lake.overwrite(name, rows)
        run.rebuilt.add(name)
        seconds = (now() - started_at).total_seconds()
    run.log(f"{name}: {run.lake.read(name).count():,} rows, in {seconds:.1f} s")
