"""The Spark session of a job that runs stand-alone: the one that is there, else one of its own."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
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
    there = SparkSession.getActiveSession() or _provided()
    if there is not None:
        session = another_session(there)
        session.conf.set("spark.sql.session.timeZone", "UTC")
        yield session
        return
    with _starter()(settings) as started:
        yield started


def another_session(spark: SparkSession) -> SparkSession:
    """A session with settings of its own, where the application can have more than one."""
    fresh = getattr(spark, "newSession", None)  # Spark Connect has none
    return fresh() if fresh else spark


def _provided() -> SparkSession | None:
    """The session of a runtime, of `spark-submit` or of Databricks Connect; None without them."""
    if any(os.environ.get(name) for name in _PROVIDED_BY):
        return SparkSession.builder.getOrCreate()
    try:
        from databricks.connect import DatabricksSession
    except ModuleNotFoundError:
        return None
    try:
        remote: SparkSession = DatabricksSession.builder.getOrCreate()
    except Exception as error:
        raise MillraceError(
            f"Databricks Connect gives no session: {' '.join(str(error).split()).rstrip('.')}",
            "Log in (databricks auth login) and name the compute, as in DATABRICKS_CONFIG_PROFILE",
        ) from error
    return remote


def _starter() -> Starter:
    with suppress(ModuleNotFoundError):  # the extra that has what it needs is not installed
        for entry in entry_points(group=GROUP):
            start: Starter = entry.load()
            return start
    raise MillraceError(
        "there is no Spark application to run in, and nothing that starts one",
        "Run it on a workspace or a cluster, or install millrace[local]",
    )
