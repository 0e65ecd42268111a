"""Rebuilding: a table computed as a whole and swapped in at once, while the jobs that fill it go on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame

from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.run.job import Run
from lakehouse.run.ledger import Ledger, now
from lakehouse.timestamps import EPOCH


@dataclass(frozen=True)
class Definition:
    """What a table is, as one computation over the tables it comes from.

    Args:
        compute: its rows, as far as the jobs that fill it have come (see `reached`): no further, since
            what is behind that they will add, and no less, since they won't do it again.
        holding: the table whose lock those jobs hold while they write.
        feeds: tables computed from it, which are stale once it has changed.
        put: puts the rows in the table's place, where it takes more than one commit to one table.
    """

    compute: Callable[[Run], DataFrame]
    holding: str
    feeds: tuple[str, ...] = ()
    put: Callable[[Run, DataFrame], None] | None = None


Definitions = Mapping[str, Definition]


def reached(run: Run, job: str, table: str) -> datetime:
    """The ingest stamp up to which a job has filled a table.

    A batch that was broken off may have come as far as the table and not as far as the ledger. Jobs find
    their own commits in the table's history, behind a rebuild as before it.
    """
    last = Ledger(run.lake).last(job)
    filled = Lakehouse(run.spark, run.settings, job).filled_upto(table)
    return max(last.position if last else EPOCH, filled or EPOCH)


def rebuild_job(definitions: Definitions, tables: Sequence[str]) -> Job:
    """What rebuilds these tables, in the order of their definitions.

    Raises:
        MillraceError: for a table that can't be rebuilt.
    """
    for name in tables:
        if name not in definitions:
            raise MillraceError(
                f"{name} is no table that can be rebuilt", f"Those that can are {', '.join(definitions)}"
            )
    chosen = {name: definition for name, definition in definitions.items() if name in tables}
    return Job("rebuild", lambda run: _rebuild_all(run, chosen))


def _rebuild_all(run: Run, definitions: Definitions) -> None:
    """Compute tables anew from what they come from, and swap them in."""
    for name, definition in definitions.items():
        if run.stop.is_set():
            return
        _rebuild(run, name, definition)
    fed = {table for definition in definitions.values() for table in definition.feeds}
    if stale := sorted(fed - set(definitions)):
        run.say(f"stale now, since computed from what was there before: {', '.join(stale)}")


def _rebuild(run: Run, name: str, definition: Definition) -> None:
    run.say(f"{name}: waiting for the batch at hand")
    with run.turn, run.lake.exclusive(definition.holding):
        if run.stop.is_set():  # asked while waiting
            return
        started_at = now()
        run.say(f"{name}: computing")
        run.record_rules()
        run.lake.read(name)  # so that its commit is refused if another application changes the table first
        rows = definition.compute(run)
        if definition.put:
            definition.put(run, rows)
        else:
            run.lake.overwrite(name, rows)
        seconds = (now() - started_at).total_seconds()
    run.say(f"{name}: {run.lake.read(name).count():,} rows, in {seconds:.1f} s")
