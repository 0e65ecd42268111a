"""Commands that run in the one Spark application of a home, because they write its tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.local.bundle.jobs import BundleJob, select_jobs

REBUILD, RUN = "rebuild", "run"
RELEASE, REPLAY, RECONSIDER, RECOVER = "release", "replay", "reconsider", "recover"


@dataclass(frozen=True)
class EngineCommand:
    """A command that writes tables.

    Args:
        command: `rebuild`, of tables; `run`, of jobs, each until it has caught up; `release` or `replay`,
            of what is held; `reconsider`, of what was refused; `recover`, of a topic.
        names: tables; jobs; name and reason of who runs it; or a topic, its option and that name.
    """

    command: str
    names: Sequence[str]

    def jobs(self) -> list[BundleJob]:
        """The jobs that execute it.

        Raises:
            MillraceError: for a name that is not known.
        """
        if self.command == REBUILD:
            from millrace.operations.rebuild import rebuild_unless_held

            return [BundleJob.of(rebuild_unless_held(self.names))]
        if self.command == RELEASE:
            from millrace.operations.release import release_job

            who, why = self.names
            return [BundleJob.of(release_job(who, why))]
        if self.command == RECONSIDER:
            from silver.reparse_rejected import main

            return [BundleJob.of(main)]
        if self.command == RECOVER:
            from bronze.recover import recover_job

            topic, option, who = self.names
            return [BundleJob.of(recover_job(topic, option, who))]
        if self.command == REPLAY:
            from millrace.operations.replay import replay_job

            who, why = self.names
            return [BundleJob.of(replay_job(who, why))]
        return select_jobs(list(self.names))
