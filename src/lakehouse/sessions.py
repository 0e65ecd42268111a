"""The Spark session of a job that runs stand-alone: the one that is there, else one of its own."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import entry_points

from pyspark.sql import SparkSession

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings

GROUP = "millrace.session"
"""Entry points of this group start a Spark application where there is none."""

_PROVIDED_BY = ("DATABRICKS_RUNTIME_VERSION", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")
"""Set where a runtime, `spark-submit` or a Spark Connect server has a session for who asks."""

Starter = Callable[[Settings], AbstractContextManager[SparkSession]]


@contextmanager
def found_session(settings: Settings) -> Iterator[SparkSession]:
    """A session in UTC, for the length of a run. One that was there before stays when the run ends.

    Raises:
        MillraceError: if there is none, and none can be started.
    """
    there = SparkSession.getActiveSession()
    if there is None and any(os.environ.get(name) for name in _PROVIDED_BY):
        there = SparkSession.builder.getOrCreate()
    if there is not None:
        fresh = getattr(there, "newSession", None)  # Spark Connect has none
        session = fresh() if fresh else there
        session.conf.set("spark.sql.session.timeZone", "UTC")
        yield session
        return
    with _starter()(settings) as started:
        yield started


def _starter() -> Starter:
    for entry in entry_points(group=GROUP):
        start: Starter = entry.load()
        return start
    raise MillraceError(
        "there is no Spark application to run in, and nothing that starts one",
        "Call it from a Spark application, or install the whole wheel",
    )
