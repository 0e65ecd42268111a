"""How a session works through queries, by how much there is to do. Nothing but time and files hangs on it."""

from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_FOR_FEW = {
    # Stamps stand in the code that Spark generates, so that of a micro-batch has never been seen before: it
    # is compiled for this micro-batch alone, and again by Java. That pays by the row.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # One task a stage, since the second takes longer to start than the first to do it all.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
}

MANY = 400_000
"""Rows of a micro-batch from which compiling and sharing out pay: docs/decisions/0020, 0021."""

LONG = 1_000_000
"""Rows of a history from which they do: what a micro-batch touches lies in files of many rows by then."""


class Tuning:
    """A session's settings for micro-batches of few rows, and back.

    Args:
        spark: the session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._usual: dict[str, str | None] = {}

    def prepare_for(self, rows: int, behind: int) -> None:
        """Set what queries go by from now on.

        Args:
            rows: of the micro-batch to come.
            behind: rows of all those before it.
        """
        if not self._usual:
            self._usual = {name: _try_to_get(self._spark, name) for name in _FOR_FEW}
        few = rows < MANY and behind < LONG
        for name, value in (_FOR_FEW if few else self._usual).items():
            _try_to_set(self._spark, name, value)


def _try_to_get(spark: SparkSession, name: str) -> str | None:
    """The value of a setting; None where it has its default, or the runtime does not say."""
    with suppress(PySparkException):
        return spark.conf.get(name, None)
    return None


def _try_to_set(spark: SparkSession, name: str, value: str | None) -> None:
    """Set what makes queries quicker and nothing else; a runtime that won't have it does as it likes."""
    with suppress(PySparkException):
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
