"""The report on the quality of data, made anew each time the gate before gold closes."""

from contextlib import suppress

from lakehouse.job import Watcher
from millrace.local.bundle.jobs import BundleJob
from millrace.local.engine.job_runner import say
from millrace.local.engine.task_runner import Worker
from millrace.tables.gate_status import gate

_LOOK_SECONDS = 5.0


class _Log(Watcher):
    def say(self, job: str, line: str) -> None:
        """Write a line to the engine's log."""
        say(f"{job}: {line}")


def report_failures(worker: Worker) -> None:
    """Run the job `quality` when the gate has closed, until asked to stop.

    Args:
        worker: runs jobs in the application that writes this home's tables.
    """
    worker.application.share_fairly("report")
    told: str | None = None
    while not worker.stop.wait(_LOOK_SECONDS):
        with suppress(OSError):
            last = gate(worker.settings)
            if last is None or last["state"] != "closed" or last["run_id"] == told:
                continue
            told = last["run_id"]
            _report(worker)


def _report(worker: Worker) -> None:
    from gold.entry_points import quality

    try:
        worker.run(BundleJob.of(quality), "gate", _Log(), once=True)
    except Exception as error:  # noqa: BLE001 - the report is for people; the jobs go on without it
        say(f"the report on the quality of data failed: {error}")
