"""A table as delta-spark maintains it: properties, OPTIMIZE, DELETE and VACUUM."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.contracts import TABLES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.maintenance.file_sizes import MIN_FILES, Compacted, max_file_bytes

_OPTIMIZE = "spark.databricks.delta.optimize"
_SETTINGS = {
    # One file after the other: the streaming jobs need the cores.
    f"{_OPTIMIZE}.maxThreads": "1",
    # Else each run would add two commits to the log of each table.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}


class SparkTable:
    """An existing table, in a folder or a catalog.

    Args:
        lake: the tables.
        name: the table.
    """

    def __init__(self, lake: Lakehouse, name: str) -> None:
        lake.read(name)  # registers it in Spark's catalog
        self._spark = lake.spark
        self._name = name
        self._table = DeltaTable.forName(lake.spark, name)

    @property
    def properties(self) -> Mapping[str, str]:
        """Delta properties."""
        found: Mapping[str, str] = self._detail.properties
        return found

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set Delta properties, in one commit."""
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self._spark.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({listed})")

    def compact(self) -> Compacted:
        """Compact small files, and files of which deletion vectors mark many rows (OPTIMIZE).

        The commit has `dataChange` false. Files of half the maximum size are finished, and not rewritten: so
        each holds the rows of one time of writing, in order, but for late events.

        Raises:
            one of `COLLISIONS`: another commit conflicted, and nothing was done.
        """
        before = int(self._detail.numFiles)
        if before <= MIN_FILES:
            return Compacted(before, before)
        largest = max_file_bytes(TABLES[self._name])
        sizes = {f"{_OPTIMIZE}.maxFileSize": largest, f"{_OPTIMIZE}.minFileSize": largest // 2}
        configure(self._spark, {**_SETTINGS, **{name: str(size) for name, size in sizes.items()}})
        counts = self._table.optimize().executeCompaction().select("metrics.*")
        done: Any = counts.select("numFilesAdded", "numFilesRemoved").collect()[0]
        return Compacted(before, before + done.numFilesAdded - done.numFilesRemoved)

    def delete(self, condition: str) -> None:
        """Delete rows in one commit, if there are any."""
        self._table.delete(condition)

    def vacuum(self) -> None:
        """Remove files that no version within the table's retention refers to (VACUUM)."""
        configure(self._spark, _SETTINGS)
        self._table.vacuum()

    @cached_property
    def _detail(self) -> Any:
        return self._table.detail().select("numFiles", "properties").collect()[0]


def configure(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Set settings of a session, apart from those that the runtime does not allow."""
    for name, value in settings.items():
        with suppress(PySparkException):
            spark.conf.set(name, value)
