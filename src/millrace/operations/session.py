"""Runs commands that write to a catalog in the current Spark session."""

from lakehouse.run.job import JobContext, PrintingListener
from lakehouse.run.job_session import get_or_start_session
from lakehouse.settings import Settings
from millrace.local.requests.engine_commands import EngineCommand


def run_on_catalog(settings: Settings, order: EngineCommand) -> None:
    """Run a command on the tables of a catalog.

    Raises:
        MillraceError: if there is no Spark session, or the command fails.
    """
    with get_or_start_session(settings) as spark:
        for ordered in order.jobs():
            for job in ordered.jobs:
                job.body(JobContext(job.name, spark, settings, once=True, listener=PrintingListener()))
