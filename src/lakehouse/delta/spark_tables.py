"""Reads and writes Delta tables through Spark."""

import json
from collections.abc import Mapping
from pathlib import Path

from delta.exceptions import MetadataChangedException
from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts import Table
from lakehouse.delta.merge import Scope, merge_changes
from lakehouse.delta.merge_session import MergeSession
from lakehouse.rows.checkpointing import (
    MAX_ROWS_PER_FILE,
    MAX_ROWS_PER_MUTABLE_FILE,
    checkpoint,
    range_partition,
)

Options = Mapping[str, str | int]


class SparkTables:
    """Tables of one job's Spark session.

    Args:
        spark: a session that no other job uses.
        catalog: the catalog of the tables; None for the session's default.
    """

    def __init__(self, spark: SparkSession, catalog: str | None) -> None:
        self._spark = spark
        self._merges = MergeSession(spark, catalog)
        self._pinned: dict[str, tuple[int, DataFrame]] = {}

    def read(self, table: Table, version: int | None) -> DataFrame:
        """A table at a version; at its latest if None."""
        if version is None:
            return self._spark.table(table.name)
        if self._pinned.get(table.name, (None,))[0] != version:
            frame = self._spark.read.option("versionAsOf", version).table(table.name)
            self._pinned[table.name] = version, frame
        return self._pinned[table.name][1]

    def append(self, table: Table, rows: DataFrame, metadata: Mapping[str, object], options: Options) -> None:
        """Append rows in one commit."""
        writer = rows.select(*table.column_names).write.format("delta").mode("append")
        writer = writer.options(userMetadata=json.dumps(metadata), **options)
        try:
            writer.saveAsTable(table.name)
        except MetadataChangedException:  # by another job; nothing was committed
            writer.saveAsTable(table.name)

    def overwrite(
        self, table: Table, rows: DataFrame, metadata: Mapping[str, object], options: Options, to: Path | None
    ) -> None:
        """Replace all rows in one commit, range-partitioned by event time.

        Args:
            table: its contract.
            rows: checkpointed.
            metadata: of the commit.
            options: of the writer.
            to: the table's folder; None for a table of a catalog.
        """
        if table.event_time:
            most = MAX_ROWS_PER_MUTABLE_FILE if table.is_mutable else MAX_ROWS_PER_FILE
            rows = range_partition(rows, table.event_time, most)
        writer = rows.write.format("delta").mode("overwrite")
        writer = writer.options(userMetadata=json.dumps(metadata), **options)
        writer.save(str(to)) if to else writer.saveAsTable(table.name)

    def merge(
        self,
        table: Table,
        changes: DataFrame,
        scope: Scope,
        metadata: Mapping[str, object],
        options: Options,
        files: int | None,
    ) -> None:
        """Merge changes in one commit; see `lakehouse.delta.merge.merge_changes`."""
        with self._merges.committing(json.dumps(metadata), options) as session:
            merge_changes(session, table, changes, scope, files)


def checkpointed_columns(table: Table, rows: DataFrame) -> DataFrame:
    """The columns of a table's contract, checkpointed."""
    return checkpoint(rows.select(*table.column_names))
