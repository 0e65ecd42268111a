"""Spark settings by the size of a micro-batch. They change run time and the number of files, no result."""

from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_SMALL_BATCH_SETTINGS = {
    # Generated code contains the batch's stamps as literals, so it is compiled again for every micro-batch.
    # That pays off only with many rows.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # One task per stage: starting a second one takes longer than the work.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
}

SMALL_BATCH_ROWS = 400_000
"""Micro-batches with fewer rows run without code generation, in one task: docs/decisions/0020, 0021."""

SMALL_HISTORY_ROWS = 50_000
"""Rebuilds of fewer rows run without code generation, in one task: docs/decisions/0020."""

LARGE_HISTORY_ROWS = 1_000_000
"""With more rows of history, code generation pays off for small batches too: they read large files."""


class Tuning:
    """Switches a session between settings for small micro-batches and its defaults.

    Args:
        spark: the session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._defaults: dict[str, str | None] = {}

    def tune_for_batch(self, rows: int, history_rows: int) -> None:
        """Choose the settings for the next micro-batch.

        Args:
            rows: of the micro-batch.
            history_rows: of all micro-batches before it.
        """
        if not self._defaults:
            self._defaults = {name: _try_to_get(self._spark, name) for name in _SMALL_BATCH_SETTINGS}
        few = rows < SMALL_BATCH_ROWS and history_rows < LARGE_HISTORY_ROWS
        for name, value in (_SMALL_BATCH_SETTINGS if few else self._defaults).items():
            _try_to_set(self._spark, name, value)


def _try_to_get(spark: SparkSession, name: str) -> str | None:
    """The value of a setting; None for its default, or where the runtime refuses to return it."""
    with suppress(PySparkException):
        return spark.conf.get(name, None)
    return None


def _try_to_set(spark: SparkSession, name: str, value: str | None) -> None:
    """Set or unset a setting; ignored by runtimes that do not allow it."""
    with suppress(PySparkException):
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
