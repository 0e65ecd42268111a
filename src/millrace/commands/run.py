"""`millrace run`: jobs of the bundle, on this machine."""

import signal
import threading
import time
from typing import Annotated

import typer
from rich.console import Console

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(run)


def run(
    jobs: Annotated[list[str], typer.Argument(help="Jobs of bundle.yml, in the order to run them.")],
    once: Annotated[bool, typer.Option("--once", help="Catch up and stop.")] = False,
) -> None:
    """Run jobs of bundle.yml: until Ctrl-C, or with --once until they have caught up."""
    settings = load_settings()
    if once:
        run_jobs(settings, jobs)
    else:
        _run_on(settings, jobs)


def run_jobs(settings: Settings, names: list[str]) -> dict[str, float]:
    """Run jobs one after the other, each until it has caught up.

    Args:
        settings: the settings in force.
        names: jobs of the bundle.

    Returns:
        Seconds by job, and `spark`, the seconds Spark took to start.

    Raises:
        MillraceError: if a job fails. What it had committed stays; running it again goes on from there.
    """
    from millrace.workspace.application import spark_application
    from millrace.workspace.bundle import select_jobs
    from millrace.workspace.progress import console_watcher

    jobs = select_jobs(names)
    stop = _stop_on_interrupt()
    clock = time.monotonic()
    with spark_application(settings) as application:
        seconds = {"spark": round(time.monotonic() - clock, 3)}
        for job in jobs:
            clock = time.monotonic()
            with console_watcher(job.name) as watcher:
                _catch_up(settings, application, job, stop, watcher)
            if stop.is_set():
                raise MillraceError(f"{job.name} was stopped", "Run it again: it goes on where it stopped")
            seconds[job.name] = round(time.monotonic() - clock, 3)
    return seconds


def _catch_up(settings, application, job, stop, watcher) -> None:  # type: ignore[no-untyped-def]
    from lakehouse.job import Run

    try:
        job.job.body(Run(job.name, application.spark.newSession(), settings, True, stop, watcher))
    except MillraceError:
        raise
    except Exception as error:
        if not application.is_alive:
            raise MillraceError(
                f"Spark's Java process ended while {job.name} ran",
                "Run the same command again: it goes on where it stopped, and nothing is lost",
            ) from error
        what = " ".join(str(error).split())[:200]
        raise MillraceError(
            f"{job.name} failed: {what}", f"See {settings.home / 'logs' / 'spark.log'}; then run it again"
        ) from error


def _run_on(settings: Settings, names: list[str]) -> None:
    from millrace.workspace.application import spark_application
    from millrace.workspace.bundle import select_jobs
    from millrace.workspace.engine import Engine

    engine = Engine(settings, select_jobs(names), _stop_on_interrupt())
    with spark_application(settings) as application:
        Console(stderr=True).print(f"Running {', '.join(names)}. Ctrl-C stops them.")
        engine.run(application)


def _stop_on_interrupt() -> threading.Event:
    """An event that the first Ctrl-C sets; the second ends the program."""
    stop = threading.Event()

    def on_signal(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    return stop
