"""Deletes rows of erased records from a table that has a row for each record."""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import OLD_TIME, write_changes
from lakehouse.erasure.blank_records import PLACE


def delete_records(lake: Lakehouse, table: Table, records: DataFrame, upto: datetime) -> None:
    """Delete the rows of some records. Idempotent.

    Args:
        lake: the tables.
        table: with columns `PLACE`.
        records: `PLACE` of the records, each once.
        upto: an ingest stamp for the commit's metadata.
    """
    rows = lake.read(table.name).join(records, list(PLACE), "left_semi")
    gone = {DELETED: F.lit(True), OLD_TIME: F.col(table.event_time or "ingested_at")}
    write_changes(lake, table, rows.select(*table.column_names).withColumns(gone), upto)
