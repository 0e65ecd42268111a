"""The engine's side of errands: one after the other, each to its end."""

import sys
from contextlib import suppress
from pathlib import Path

from lakehouse.errors import MillraceError
from millrace.local.engine.spark_application import Application
from millrace.local.engine.task_runner import Worker
from millrace.local.requests.command_queue import Answer, Errand, waiting

_LOOK_SECONDS = 0.5


def serve(worker: Worker) -> None:
    """Carry out what is ordered, until asked to stop.

    Args:
        worker: runs jobs in the application that writes this home's tables.
    """
    worker.application.share_fairly("errands")
    while not worker.stop.wait(_LOOK_SECONDS):
        with suppress(OSError):  # a full disk, say: whoever ordered can't be told, others may be, later
            for errand in list(waiting(worker.settings.home)):
                _carry_out(errand, worker)


def _carry_out(errand: Errand, worker: Worker) -> None:
    with errand.answer.open("w", encoding="utf-8") as file:
        answer = Answer(errand, file)
        try:
            for job in errand.order().jobs():
                worker.run(job, "order", answer, once=True)
            if worker.stop.is_set():
                raise MillraceError("the workspace was stopped meanwhile", "Order it again when it runs")
            answer.write({"done": True})
        except MillraceError as error:
            answer.write({"problem": error.problem, "next_step": error.next_step})
        except Exception as error:  # noqa: BLE001 - who ordered it is told; the engine goes on
            problem, next_step = _failure(
                error, worker.application, worker.settings.home / "logs" / "engine.log"
            )
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
