"""Spark settings by the size of a micro-batch. They change run time and the number of files, no result."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.rows.partitions import cores_of

SMALL_BATCH_ROWS = 50_000
"""Micro-batches with fewer rows are not compiled by stage: docs/decisions/0047, 0073.

The code of a stage contains the batch's stamps as literals, so it is compiled again for every micro-batch. Of
single operators, only a few conditions do; merges do not, see `lakehouse.delta.merge_session`.
"""

INTERPRETED_ROWS = 10_000
"""Micro-batches with fewer rows are not compiled at all."""

ROWS_PER_PARTITION = 10_000
"""Rows of a micro-batch per partition of a shuffle, below one partition per core: docs/decisions/0047.

Starting a task takes longer than folding a few rows.
"""

MOST_ROWS_PER_PARTITION = 150_000
"""Rows of a micro-batch, or events of history that it reads, per partition at most: docs/decisions/0077."""

READ_PER_ROW = 6
"""Events of the history that is read, for a row of a micro-batch, in the choice of how queries are compiled.

So queries that read 300,000 events are compiled by stage: docs/decisions/0077.
"""

MOST_BROADCAST_KEYS = 500_000
"""Keys that history is searched by, at most; more are shuffled, with the history: docs/decisions/0077."""

ROWS_PER_FILE = 100_000
"""Rows of a micro-batch per file that an append writes."""

_MODE, _BY_STAGE = "spark.sql.codegen.factoryMode", "spark.sql.codegen.wholeStage"
_SMALL_BATCH_SETTINGS = {_BY_STAGE: "false", "spark.sql.files.minPartitionNum": "1"}
_INTERPRETED = {_MODE: "NO_CODEGEN", **_SMALL_BATCH_SETTINGS}
_COMPILED = {_MODE: "FALLBACK", _BY_STAGE: "true"}
_PARTITIONS = "spark.sql.shuffle.partitions"
_WITHOUT_BROADCASTS = {"spark.sql.optimizer.disableHints": "true"}


class BatchSettings:
    """Switches a session between settings for small micro-batches and its defaults.

    Args:
        spark: the session.
        shuffle_partitions: partitions of a shuffle; None: by the rows of a micro-batch and of what it reads.
    """

    def __init__(self, spark: SparkSession, shuffle_partitions: int | None = None) -> None:
        self._spark = spark
        self._partitions = shuffle_partitions
        self._defaults: dict[str, str | None] = {}

    def choose(self, rows: int, read: int = 0, keys: int = 0) -> None:
        """Choose the settings for the next micro-batch.

        Args:
            rows: its number of rows.
            read: number of events of the history that it reads and shuffles.
            keys: number of keys that it searches the history by, if there may be more than rows of a
                micro-batch.
        """
        if not self._defaults:
            chosen = {**_INTERPRETED, **_WITHOUT_BROADCASTS}
            self._defaults = {name: _try_to_get(self._spark, name) for name in chosen}
        wanted = {**self._defaults, **_settings_for(max(rows, read // READ_PER_ROW))}
        if keys > MOST_BROADCAST_KEYS:
            wanted.update(_WITHOUT_BROADCASTS)
        _try_to_set_all(self._spark, wanted)
        if partitions := self._partitions or _partitions_for(rows, read, cores_of(self._spark)):
            _try_to_set(self._spark, _PARTITIONS, str(partitions))


@contextmanager
def compiled(spark: SparkSession) -> Iterator[None]:
    """Compile the queries of a session during the block, also in a small micro-batch.

    For queries that search a whole table, or months of it, and whose code has no values of the micro-batch:
    docs/decisions/0073. Not for use by two threads of a session at the same time.
    """
    before = {name: _try_to_get(spark, name) for name in _COMPILED}
    _try_to_set_all(spark, _COMPILED)
    try:
        yield
    finally:
        _try_to_set_all(spark, before)


def _settings_for(rows: int) -> Mapping[str, str]:
    if rows < INTERPRETED_ROWS:
        return _INTERPRETED
    return _SMALL_BATCH_SETTINGS if rows < SMALL_BATCH_ROWS else {}


def _partitions_for(rows: int, read: int, cores: int | None) -> int | None:
    if cores is None:
        return None
    least = max(rows, read) // MOST_ROWS_PER_PARTITION
    return max(least, min(max(2, cores), 1 + rows // ROWS_PER_PARTITION))


def _try_to_get(spark: SparkSession, name: str) -> str | None:
    """The value of a setting; None for its default, or where the runtime refuses to return it."""
    with suppress(PySparkException):
        return spark.conf.get(name, None)
    return None


def _try_to_set_all(spark: SparkSession, values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        _try_to_set(spark, name, value)


def _try_to_set(spark: SparkSession, name: str, value: str | None) -> None:
    """Set or unset a setting; ignored by runtimes that do not allow it."""
    with suppress(PySparkException):
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
