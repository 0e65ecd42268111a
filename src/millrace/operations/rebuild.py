"""Rebuilds tables of silver and gold."""

from collections.abc import Sequence

from lakehouse.entry_point import Job
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import Definitions, rebuild_job


def rebuild_unless_held(tables: Sequence[str]) -> Job:
    """The job that rebuilds tables. Tables of gold need an open gate, and wait until publish has caught up.

    Raises:
        MillraceError: for a table that can't be rebuilt.
    """
    job = rebuild_job(definitions(), tables, _catch_up)

    def rebuild(run: JobContext) -> None:
        if has_gold(tables):
            from lakehouse.quality.gate_log import require_open

            require_open(run.lake)
        job.body(run)

    return Job(job.name, rebuild)


def has_gold(tables: Sequence[str]) -> bool:
    """Whether one of the tables is of gold."""
    return any(name.startswith("gold.") for name in tables)


def _catch_up(run: JobContext) -> None:
    """Let publish process what a rebuild of silver has in its tables; see `pin_for_rebuild`."""
    from millrace.operations.caught_up import catch_up, wait_for_publish

    if run.settings.catalog:
        catch_up(run)
    wait_for_publish(run)


def definitions() -> Definitions:
    """The definitions of the tables that can be rebuilt, in dependency order."""
    from gold import rebuild_definitions as gold
    from shop import rebuild_definitions as shop
    from silver import rebuild_definitions as silver

    return {**silver.DEFINITIONS, **shop.DEFINITIONS, **gold.DEFINITIONS}
