"""Published tables as Spark reads and writes them."""

import json
from collections.abc import Mapping
from pathlib import Path

from delta.exceptions import MetadataChangedException
from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts import Table
from lakehouse.delta.commit_metadata import Telling
from lakehouse.delta.merge import Scope, merge_changes
from lakehouse.rows.checkpointing import ROWS_OF_A_FILE, ROWS_OF_A_SWAPPED_FILE, in_stretches, settle

Options = Mapping[str, str | int]


class SparkTables:
    """The tables that one job's session sees.

    Args:
        spark: the session, of the job's own: some settings of a commit belong to it.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._telling = Telling(spark)
        self._pinned: dict[str, tuple[int, DataFrame]] = {}
        spark.conf.set("spark.databricks.delta.replaceWhere.constraintCheck.enabled", "false")
        spark.conf.set("spark.databricks.delta.merge.materializeSource", "none")  # changes are settled

    def read(self, table: Table, version: int | None) -> DataFrame:
        """A table at a version, or as it is now."""
        if version is None:
            return self._spark.table(table.name)
        if self._pinned.get(table.name, (None,))[0] != version:
            frame = self._spark.read.option("versionAsOf", version).table(table.name)
            self._pinned[table.name] = version, frame
        return self._pinned[table.name][1]

    def write(
        self, table: Table, rows: DataFrame, mode: str, metadata: Mapping[str, object], options: Options
    ) -> None:
        """Add rows, or put them in the place of those that an option names, in one commit."""
        writer = rows.select(*table.column_names).write.format("delta").mode(mode)
        writer = writer.options(userMetadata=json.dumps(metadata), **options)
        try:
            writer.saveAsTable(table.name)
        except MetadataChangedException:  # by another job; nothing was committed
            writer.saveAsTable(table.name)

    def overwrite(
        self, table: Table, rows: DataFrame, metadata: Mapping[str, object], options: Options, to: Path | None
    ) -> None:
        """Put rows in the place of all, in one commit. Files hold stretches of time.

        Args:
            table: its contract.
            rows: settled.
            metadata: of the commit.
            options: of the writer.
            to: the table's folder; None: the catalog knows.
        """
        if table.event_time:
            most = ROWS_OF_A_SWAPPED_FILE if table.is_swapped else ROWS_OF_A_FILE
            rows = in_stretches(rows, table.event_time, most)
        writer = rows.write.format("delta").mode("overwrite")
        writer = writer.options(userMetadata=json.dumps(metadata), **options)
        writer.save(str(to)) if to else writer.saveAsTable(table.name)

    def merge(
        self, table: Table, changes: DataFrame, scope: Scope, metadata: Mapping[str, object], options: Options
    ) -> None:
        """Make changes to rows, in one commit; see `lakehouse.delta.merge.merge_changes`."""
        with self._telling.say(json.dumps(metadata), options):
            merge_changes(self._spark, table, changes, scope)


def settled_columns(table: Table, rows: DataFrame) -> DataFrame:
    """The columns of a table, computed."""
    return settle(rows.select(*table.column_names))
