"""The metadata and transaction ids of a merge, which takes no options of its own: set on the session."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from pyspark.sql import SparkSession

_SAID = "spark.databricks.delta.commitInfo.userMetadata"
_WRITE = "spark.databricks.delta.write."


class Telling:
    """Lets commits of one session that say the same be made beside each other, and others wait.

    Args:
        spark: the session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._changed = threading.Condition()
        self._said = ""
        self._telling = 0

    @contextmanager
    def say(
        self, metadata: str, transaction: Mapping[str, str | int] = MappingProxyType({})
    ) -> Iterator[None]:
        """While this lasts, commits without metadata and transaction ids of their own have these."""
        with self._changed:
            self._changed.wait_for(lambda: not self._telling or self._said == metadata)
            self._said = metadata
            self._telling += 1
            self._spark.conf.set(_SAID, metadata)
            for key, value in transaction.items():
                self._spark.conf.set(f"{_WRITE}{key}", str(value))
        try:
            yield
        finally:
            with self._changed:
                self._telling -= 1
                if not self._telling:
                    for setting in (_SAID, *(f"{_WRITE}{key}" for key in transaction)):
                        self._spark.conf.unset(setting)
                self._changed.notify_all()
