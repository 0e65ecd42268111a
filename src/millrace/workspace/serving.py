"""The engine's side of errands: one after the other, each to its end."""

import sys
import threading
from contextlib import suppress
from pathlib import Path

from lakehouse.errors import MillraceError
from lakehouse.job import Run
from lakehouse.settings import Settings
from millrace.workspace.application import Application
from millrace.workspace.errands import Answer, Errand, waiting
from millrace.workspace.turns import Turns

_LOOK_SECONDS = 0.5


def serve(settings: Settings, application: Application, turns: Turns, stop: threading.Event) -> None:
    """Carry out what is ordered, until asked to stop.

    Args:
        settings: the settings in force.
        application: the one that writes this home's tables.
        turns: what jobs take before they work.
        stop: ends it, after what is at hand.
    """
    application.share_fairly("errands")
    while not stop.wait(_LOOK_SECONDS):
        with suppress(OSError):  # a full disk, say: whoever ordered can't be told, others may be, later
            for errand in list(waiting(settings.home)):
                _carry_out(errand, settings, application, turns, stop)


def _carry_out(
    errand: Errand, settings: Settings, application: Application, turns: Turns, stop: threading.Event
) -> None:
    with errand.answer.open("w", encoding="utf-8") as file:
        answer = Answer(errand, file)
        try:
            for job in errand.order().jobs():
                session = application.spark.newSession()
                job.body(Run(job.name, session, settings, True, stop, answer, turns))
            if stop.is_set():
                raise MillraceError("the workspace was stopped meanwhile", "Order it again when it runs")
            answer.write({"done": True})
        except MillraceError as error:
            answer.write({"problem": error.problem, "next_step": error.next_step})
        except Exception as error:  # noqa: BLE001 - who ordered it is told; the engine goes on
            problem, next_step = _failure(error, application, settings.home / "logs" / "engine.log")
            answer.write({"problem": problem, "next_step": next_step})


def _failure(error: Exception, application: Application, log: Path) -> tuple[str, str]:
    if application.has_ended():
        return (
            "Spark's Java process ended meanwhile",
            "Order it again when `millrace status` shows it running",
        )
    sys.stderr.write(f"an errand failed: {error}\n")
    what = " ".join(str(error).split())[:200] or type(error).__name__
    return f"it failed in the engine: {what}", f"See {log}; then order it again"
