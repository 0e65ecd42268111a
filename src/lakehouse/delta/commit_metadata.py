"""Metadata and transaction ids of a MERGE, set on the session since MERGE takes no options."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from pyspark.sql import SparkSession

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_WRITE_OPTIONS = "spark.databricks.delta.write."


class CommitMetadata:
    """Sets them on a session. Merges with the same values run concurrently; others wait.

    Args:
        spark: the session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._changed = threading.Condition()
        self._running: tuple[str, Mapping[str, str | int]] = ("", {})
        self._merges = 0

    @contextmanager
    def on_session(
        self, metadata: str, transaction: Mapping[str, str | int] = MappingProxyType({})
    ) -> Iterator[None]:
        """While this lasts, commits without their own metadata and transaction ids get these.

        Transaction ids name the table. If two tables were merged at once, one would have the other's ids, and
        Delta would not notice that another application has committed in between.
        """
        wanted = (metadata, transaction)
        with self._changed:
            self._changed.wait_for(lambda: not self._merges or self._running == wanted)
            self._running = wanted
            self._merges += 1
            self._spark.conf.set(_USER_METADATA, metadata)
            for key, value in transaction.items():
                self._spark.conf.set(f"{_WRITE_OPTIONS}{key}", str(value))
        try:
            yield
        finally:
            with self._changed:
                self._merges -= 1
                if not self._merges:
                    for setting in (_USER_METADATA, *(f"{_WRITE_OPTIONS}{key}" for key in transaction)):
                        self._spark.conf.unset(setting)
                self._changed.notify_all()
