"""Builds the data quality report each time the gate closes."""

from contextlib import suppress

from lakehouse.run.job import JobListener
from millrace.local.bundle.jobs import BundleJob
from millrace.local.engine.job_runner import log
from millrace.local.engine.task_runner import TaskRunner
from millrace.tables.gate_status import gate

_LOOK_SECONDS = 5.0


class _Log(JobListener):
    def log(self, job: str, line: str) -> None:
        """Write a line to the engine's log."""
        log(f"{job}: {line}")


def report_failures(tasks: TaskRunner) -> None:
    """Run the job `quality` each time the gate closes, until stopped.

    Args:
        tasks: runs jobs in the application that writes this home's tables.
    """
    tasks.application.use_scheduler_pool("report")
    reported: str | None = None
    while not tasks.stop.wait(_LOOK_SECONDS):
        with suppress(OSError):
            last = gate(tasks.settings)
            if last is None or last["state"] != "closed" or last["run_id"] == reported:
                continue
            reported = last["run_id"]
            _report(tasks)


def _report(tasks: TaskRunner) -> None:
    from gold.entry_points import quality

    try:
        tasks.run(BundleJob.of(quality), "gate", _Log(), once=True)
    except Exception as error:  # noqa: BLE001 - jobs continue without the report
        log(f"the data quality report failed: {error}")
