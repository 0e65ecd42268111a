"""What commands have run in the one Spark application of a home."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.entry_point import Job
from lakehouse.job import Run
from lakehouse.rebuilding import Definitions
from millrace.workspace.bundle import BundleJob, select_jobs

REBUILD, RUN = "rebuild", "run"
RELEASE, REPLAY, RECONSIDER = "release", "replay", "reconsider"


@dataclass(frozen=True)
class Order:
    """A command that writes, and what it is about.

    Args:
        command: `rebuild`, of tables; `run`, of jobs, each until it has caught up; `release` or `replay`,
            of what is held; `reconsider`, of what was refused.
        names: tables, jobs, or who gives the order and why.
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

            return [BundleJob.of(_unless_held(rebuild_job(definitions(), self.names), self.names))]
        if self.command == RELEASE:
            from gold.release import release_job

            who, why = self.names
            return [BundleJob.of(release_job(who, why))]
        if self.command == RECONSIDER:
            from silver.reconsider import main

            return [BundleJob.of(main)]
        if self.command == REPLAY:
            from gold.replay import replay_job
            from silver.definitions import DEFINITIONS

            who, why = self.names
            return [BundleJob.of(replay_job(DEFINITIONS, who, why))]
        return select_jobs(list(self.names))


def _unless_held(job: Job, tables: Sequence[str]) -> Job:
    """The same; of gold only while the gate before it is open: a rebuild takes in all of silver."""

    def rebuild(run: Run) -> None:
        if any(name.startswith("gold.") for name in tables):
            from lakehouse.expectations.gates import require_open

            require_open(run.lake)
        job.body(run)

    return Job(job.name, rebuild)


def definitions() -> Definitions:
    """The tables that can be rebuilt, each after those that it is computed from."""
    from gold import definitions as gold
    from silver import definitions as silver

    return {**silver.DEFINITIONS, **gold.DEFINITIONS}
