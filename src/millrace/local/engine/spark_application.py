"""The one Spark application that writes a home's tables."""

import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from lakehouse.errors import MillraceError
from lakehouse.run.ledger_cache import exclusive_ledger
from lakehouse.settings import Settings
from millrace.audit.digests.recording import recorded_digests
from millrace.local.process.pyspark_launch import (
    clean_up_on_failure,
    keep_quiet,
    keep_sigint_handler,
    output_to,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STOP_SECONDS = 2.0


class Application:
    """A Spark application with its Java process.

    Args:
        spark: its first Spark session.
    """

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        gateway = spark.sparkContext._gateway  # noqa: SLF001 - there is no public access to the process
        self._java = gateway.proc if gateway is not None else None
        keep_quiet(spark.sparkContext._accumulatorServer)  # noqa: SLF001 - nor to this server

    @property
    def is_alive(self) -> bool:
        """Whether the Java process still runs."""
        return self._java is None or self._java.poll() is None

    def has_ended(self) -> bool:
        """Whether the Java process has exited, or exits soon: its sockets close earlier."""
        try:
            return self._java is not None and self._java.wait(_STOP_SECONDS) is not None
        except subprocess.TimeoutExpired:
            return False

    def use_scheduler_pool(self, pool: str) -> None:
        """Give this thread its own scheduler pool, so that a long batch does not block short ones."""
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)

    def end(self) -> None:
        """Stop Spark and its Java process, in any state, in little more than two seconds."""
        if self.is_alive:  # on a thread, since a Java process that hangs does not answer
            stopping = threading.Thread(target=self._stop, daemon=True)
            stopping.start()
            stopping.join(_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill the Java process."""
        if self._java is not None:
            self._java.kill()
            self._java.wait()

    def _stop(self) -> None:
        try:
            self.spark.stop()
        except Exception as error:  # noqa: BLE001 - the JVM may already have exited
            logging.getLogger(__name__).debug("Spark did not stop cleanly: %s", error)


@contextmanager
def spark_application(settings: Settings) -> Iterator[Application]:
    """Start Spark on this machine as the only writer of this home's tables, for the block.

    Delta's local log is safe only for one writing process, so a lock is held. Spark logs to
    `logs/spark.log` under the home.

    Args:
        settings: the settings in force.

    Raises:
        MillraceError: if another application uses the home, or Spark does not start.
    """
    (settings.home / "run").mkdir(parents=True, exist_ok=True)
    lock = FileLock(settings.home / "run" / "engine.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise MillraceError(
            f"another Millrace process is writing the tables in {settings.home}",
            "`millrace status` shows it; wait for it, or stop it with `millrace down`",
        ) from None
    try:
        application = _start(settings)
        try:
            with exclusive_ledger(settings), recorded_digests(settings):
                yield application
        finally:
            application.end()
    finally:
        lock.release()


@contextmanager
def started_session(settings: Settings) -> Iterator["SparkSession"]:
    """A session of a Spark application that runs during the block, for stand-alone entry points.

    Raises:
        MillraceError: if jars are missing, another application uses the home, or Spark does not start.
    """
    from millrace.environment.jars import ensure_jars

    ensure_jars()
    with spark_application(settings) as application:
        yield application.spark.newSession()


def _remove_leftovers(scratch: Path) -> None:
    """Remove files of applications that were killed. Only the home's single application may do it."""
    for leftover in (*scratch.glob("blockmgr-*"), *scratch.glob("spark-*"), scratch / "tmp"):
        shutil.rmtree(leftover, ignore_errors=True)


def _start(settings: Settings) -> Application:
    from lakehouse.run.spark_session import build_session
    from millrace.environment.jars import spark_jars
    from millrace.environment.java import java_executable

    java = java_executable()
    os.environ["JAVA_HOME"] = str(java.resolve().parents[1])
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    log = settings.home / "logs" / "spark.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    jars = spark_jars()
    _remove_leftovers(settings.home / "spark")
    with output_to(log), keep_sigint_handler(), clean_up_on_failure():
        try:
            return Application(build_session(settings, jars))
        except MillraceError:
            raise
        except Exception as error:
            raise MillraceError(
                f"Spark did not start ({type(error).__name__})", f"See {log}; `millrace doctor` may know why"
            ) from error
