"""What commands have run in the one Spark application of a home."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.rebuilding import Definitions
from millrace.workspace.bundle import BundleJob, select_jobs

REBUILD, RUN = "rebuild", "run"


@dataclass(frozen=True)
class Order:
    """A command that writes, and what it is about.

    Args:
        command: `rebuild`, of tables, or `run`, of jobs, each until it has caught up.
        names: tables or jobs.
    """

    command: str
    names: Sequence[str]

    def jobs(self) -> list[BundleJob]:
        """What carries it out.

        Raises:
            MillraceError: for a name that is not known.
        """
        if self.command == REBUILD:
            from lakehouse.rebuilding import rebuild_job

            return [BundleJob.of(rebuild_job(definitions(), self.names))]
        return select_jobs(list(self.names))


def definitions() -> Definitions:
    """The tables that can be rebuilt, each after those that it is computed from."""
    from gold import definitions as gold
    from silver import definitions as silver

    return {**silver.DEFINITIONS, **gold.DEFINITIONS}
