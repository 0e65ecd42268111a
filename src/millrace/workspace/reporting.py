"""The report on the quality of data, made anew each time the gate before gold closes."""

import sys
import threading
from contextlib import suppress

from lakehouse.job import Run, Watcher
from lakehouse.settings import Settings
from millrace.quality import gate
from millrace.workspace.application import Application
from millrace.workspace.turns import Turns

_LOOK_SECONDS = 5.0


class _Log(Watcher):
    def say(self, job: str, line: str) -> None:
        """Write a line to the engine's log."""
        sys.stderr.write(f"{job}: {line}\n")


def report_failures(
    settings: Settings, application: Application, turns: Turns, stop: threading.Event
) -> None:
    """Run the job `quality` when the gate has closed, until asked to stop.

    Args:
        settings: the settings in force.
        application: the one that writes this home's tables.
        turns: what jobs take before they work.
        stop: ends it, after what is at hand.
    """
    application.share_fairly("report")
    told: str | None = None
    while not stop.wait(_LOOK_SECONDS):
        with suppress(OSError):
            last = gate(settings)
            if last is None or last["state"] != "closed" or last["run_id"] == told:
                continue
            told = last["run_id"]
            _report(settings, application, turns, stop)


def _report(settings: Settings, application: Application, turns: Turns, stop: threading.Event) -> None:
    from gold.quality_job import main

    try:
        run = Run(main.name, application.spark.newSession(), settings, True, stop, _Log(), turns)
        main.body(run)
    except Exception as error:  # noqa: BLE001 - the report is for people; the jobs go on without it
        sys.stderr.write(f"the report on the quality of data failed: {error}\n")
