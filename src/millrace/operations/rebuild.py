"""Rebuilds tables of silver and gold."""

from collections.abc import Sequence

from lakehouse.entry_point import Job
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import Definitions, rebuild_job


def rebuild_unless_held(tables: Sequence[str]) -> Job:
    """The job that rebuilds tables. Tables of gold need an open gate, since a rebuild reads all of silver.

    Raises:
        MillraceError: for a table that can't be rebuilt.
    """
    job = rebuild_job(definitions(), tables)

    def rebuild(run: JobContext) -> None:
        if any(name.startswith("gold.") for name in tables):
            from lakehouse.quality.gate_log import require_open

            require_open(run.lake)
        job.body(run)

    return Job(job.name, rebuild)


def definitions() -> Definitions:
    """The definitions of the tables that can be rebuilt, in dependency order."""
    from gold import rebuild_definitions as gold
    from shop import rebuild_definitions as shop
    from silver import rebuild_definitions as silver

    return {**silver.DEFINITIONS, **shop.DEFINITIONS, **gold.DEFINITIONS}
