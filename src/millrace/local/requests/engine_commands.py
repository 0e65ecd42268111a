"""Commands that run in the home's only Spark application, because they write its tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.local.bundle.jobs import BundleJob, select_jobs

REBUILD, RUN = "rebuild", "run"
RELEASE, REPLAY, RECONSIDER, RECOVER = "release", "replay", "reconsider", "recover"
ERASE = "erase"


@dataclass(frozen=True)
class EngineCommand:
    """A command that writes tables.

    Args:
        command: `rebuild` of tables; `run` of jobs until each has caught up; `release` or `replay` of held
            rows; `reconsider` of rejected records; `recover` of a topic; `erase` of persons.
        names: tables; jobs; the user's name and reason; a topic, its option and the user's name; or the
            number of a person's request.
    """

    command: str
    names: Sequence[str]

    def jobs(self) -> list[BundleJob]:
        """The jobs that execute it.

        Raises:
            MillraceError: for an unknown name.
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
        if self.command == ERASE:
            from millrace.operations.erase import erase_job

            return [BundleJob.of(erase_job(*self.names))]
        if self.command == REPLAY:
            from millrace.operations.replay import replay_job

            who, why = self.names
            return [BundleJob.of(replay_job(who, why))]
        return select_jobs(list(self.names))
