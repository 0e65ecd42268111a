"""`millrace run`: runs jobs of the bundle on this machine."""

from typing import Annotated

import typer
from rich.console import Console

from folds.rule_numbers import load_rule_numbers
from folds.windows.window_rules import load_window_rules
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings

_BEFORE_RETENTION = ("refine", "repair", "publish")


def run(
    jobs: Annotated[list[str], typer.Argument(help="Jobs of bundle.yml, in the order to run them.")],
    once: Annotated[bool, typer.Option("--once", help="Catch up and stop.")] = False,
) -> None:
    """Run jobs of bundle.yml until Ctrl-C, or with --once until they have caught up.

    Jobs: ingest (bronze), refine (silver), repair (late events), dimensions (the shop's
    database), publish (gold), quality (expectations and their report), attribution-model
    (data-driven credit), maintenance (compaction and VACUUM), retention (conf/retention.yml). The
    last four are scheduled and end by themselves. While `millrace up` runs, use --once: it waits until
    the running jobs have caught up.
    """
    from millrace.local.bundle.jobs import select_jobs

    settings = load_settings()
    load_rule_numbers(settings.conf)  # refused here, not by a job later
    load_window_rules(settings.conf)
    if not once and any(job.is_continuous for job in select_jobs(jobs)):
        _run_on(settings, jobs)
    elif not _wait_for_engine(settings, jobs):
        run_jobs(settings, jobs)


def run_jobs(settings: Settings, names: list[str]) -> dict[str, float]:
    """Run jobs one after the other, each until it has caught up.

    Before retention, those run that an erasure waits for.

    Args:
        settings: the settings in force.
        names: jobs of the bundle.

    Returns:
        Seconds by job, and `spark`, the seconds Spark took to start.

    Raises:
        MillraceError: if a job fails or is stopped; see `millrace.local.engine.run_once`.
    """
    from millrace.local.engine.run_once import run_once
    from millrace.local.requests.engine_commands import RUN, EngineCommand

    if "retention" in names:
        names = [*_BEFORE_RETENTION, *names]
    jobs = EngineCommand(RUN, names).jobs()
    _require_broker(settings, names)
    return run_once(settings, jobs)


def _wait_for_engine(settings: Settings, names: list[str]) -> bool:
    """If an engine runs, wait until the jobs have caught up there. Returns whether one runs."""
    from millrace.local.bundle.jobs import select_jobs
    from millrace.local.requests.command_client import engine_runs

    if not engine_runs(settings):
        return False
    from millrace.local.requests.wait_for_jobs import wait_until_caught_up

    select_jobs(names)
    _require_broker(settings, names)
    _require_topics(settings, names)
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    wait_until_caught_up(settings, names, console.print)
    return True


def _require_broker(settings: Settings, names: list[str]) -> None:
    """Fail immediately if no broker answers, not after Spark's start and the client's timeout."""
    from bronze.kafka_auth import client_options
    from millrace.local.kafka.kafka_health import cluster_id

    if "ingest" in names and cluster_id(settings.bootstrap, 5.0, client_options(settings)) is None:
        raise MillraceError(
            f"no Kafka broker answers at {settings.bootstrap}",
            "Start the local one with `millrace up --broker`, or set MILLRACE_KAFKA_BOOTSTRAP",
        )


def _require_topics(settings: Settings, names: list[str]) -> None:
    """Fail if a topic problem stops the engine's ingest, which would otherwise seem to have caught up."""
    from bronze.topics.topic_check import require_readable
    from millrace.tables.topic_state import read_topics

    if "ingest" in names:
        require_readable(read_topics(settings).troubles)


def _run_on(settings: Settings, names: list[str]) -> None:
    from millrace.local.bundle.jobs import select_jobs
    from millrace.local.engine.main import Engine
    from millrace.local.engine.spark_application import spark_application
    from millrace.shutdown_signal import GracefulShutdown

    jobs = select_jobs(names)
    _require_broker(settings, names)
    with (
        GracefulShutdown().on_signals() as ending,
        spark_application(settings) as application,
    ):
        ending.interrupt_by(application.kill)
        Console(stderr=True).print(f"Running {', '.join(names)}. Ctrl-C stops them.")
        Engine(settings, jobs, ending.requested).run(application)
