"""The Spark session of a stand-alone job: the active one, else a new one."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.metadata import entry_points

from pyspark.sql import SparkSession

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings

GROUP = "millrace.session"
"""Entry points of this group start a Spark application where there is none."""

_RUNTIME_VARIABLES = ("DATABRICKS_RUNTIME_VERSION", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")
"""Environment variables of runtimes that provide a session: Databricks, `spark-submit`, Spark Connect."""

Starter = Callable[[Settings], AbstractContextManager[SparkSession]]


@contextmanager
def get_or_start_session(settings: Settings) -> Iterator[SparkSession]:
    """A session in UTC for one run. A session that existed before is not stopped at the end.

    Raises:
        MillraceError: if there is none, and none can be started.
    """
    there = SparkSession.getActiveSession() or _runtime_session()
    if there is not None:
        yield isolated_session(there)
        return
    with _starter()(settings) as started:
        yield started


def isolated_session(spark: SparkSession) -> SparkSession:
    """A new session in UTC with its own settings, where the application supports more than one."""
    fresh = getattr(spark, "newSession", None)  # Spark Connect has none
    session: SparkSession = fresh() if fresh else spark
    session.conf.set("spark.sql.session.timeZone", "UTC")  # it has the application's, not that of `spark`
    return session


def _runtime_session() -> SparkSession | None:
    """The session of a runtime, `spark-submit` or Databricks Connect; None if there is none."""
    if any(os.environ.get(name) for name in _RUNTIME_VARIABLES):
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
        "Run it on a workspace or a cluster, or install Millrace's wheel with the extra `local`",
    )
