"""`millrace run`: jobs of the bundle, on this machine."""

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakehouse.job import Watcher
    from millrace.workspace.application import Application
    from millrace.workspace.bundle import BundleJob
    from millrace.workspace.ending import Ending


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
        MillraceError: if a job fails, or a signal ends it within ten seconds. What it had committed stays;
            running it again goes on from there.
    """
    from millrace.workspace.application import spark_application
    from millrace.workspace.bundle import select_jobs
    from millrace.workspace.ending import Ending
    from millrace.workspace.progress import console_watcher

    jobs = select_jobs(names)
    _require_broker(settings, names)
    clock = time.monotonic()
    with Ending().on_signals() as ending, spark_application(settings) as application:
        ending.cut_off_by(application.kill)
        seconds = {"spark": round(time.monotonic() - clock, 3)}
        for job in jobs:
            clock = time.monotonic()
            with console_watcher(job.name) as watcher:
                _catch_up(settings, application, job, ending, watcher)
            seconds[job.name] = round(time.monotonic() - clock, 3)
    return seconds


def _require_broker(settings: Settings, names: list[str]) -> None:
    """Say at once what would else be known only after Spark's start and the client's patience."""
    from millrace.workspace.kafka_health import cluster_id

    if "ingest" in names and cluster_id(settings.bootstrap, seconds=5.0) is None:
        raise MillraceError(
            f"no Kafka broker answers at {settings.bootstrap}",
            "Start the local one with `millrace up --broker`, or set MILLRACE_KAFKA_BOOTSTRAP",
        )


def _catch_up(
    settings: Settings, application: "Application", job: "BundleJob", ending: "Ending", watcher: "Watcher"
) -> None:
    from lakehouse.job import Run

    try:
        session = application.spark.newSession()
        job.job.body(Run(job.name, session, settings, True, ending.asked, watcher))
    except MillraceError:
        raise
    except Exception as error:
        if not ending.asked.is_set():
            raise _failure(settings, application, job.name, error) from error
    if ending.asked.is_set():
        raise MillraceError(f"{job.name} was stopped", "Run it again: it goes on where it stopped")


def _failure(settings: Settings, application: "Application", job: str, error: Exception) -> MillraceError:
    if application.has_ended():
        return MillraceError(
            f"Spark's Java process ended while {job} ran",
            "Run the same command again: it goes on where it stopped, and nothing is lost",
        )
    what = " ".join(str(error).split())[:200]
    return MillraceError(
        f"{job} failed: {what}", f"See {settings.home / 'logs' / 'spark.log'}; then run it again"
    )


def _run_on(settings: Settings, names: list[str]) -> None:
    from millrace.workspace.application import spark_application
    from millrace.workspace.bundle import select_jobs
    from millrace.workspace.ending import Ending
    from millrace.workspace.engine import Engine

    jobs = select_jobs(names)
    _require_broker(settings, names)
    with Ending().on_signals() as ending, spark_application(settings) as application:
        ending.cut_off_by(application.kill)
        Console(stderr=True).print(f"Running {', '.join(names)}. Ctrl-C stops them.")
        Engine(settings, jobs, ending.asked).run(application)
