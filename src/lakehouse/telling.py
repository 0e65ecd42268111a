"""What a commit says of itself where only the session can tell it: a merge has no options of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_SAID = "spark.databricks.delta.commitInfo.userMetadata"


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
    def say(self, metadata: str) -> Iterator[None]:
        """While this lasts, commits without metadata of their own have this."""
        with self._changed:
            self._changed.wait_for(lambda: not self._telling or self._said == metadata)
            self._said = metadata
            self._telling += 1
            self._spark.conf.set(_SAID, metadata)
        try:
            yield
        finally:
            with self._changed:
                self._telling -= 1
                if not self._telling:
                    self._spark.conf.unset(_SAID)
                self._changed.notify_all()
