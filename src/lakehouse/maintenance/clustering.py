"""Clusters files by time again that have grown with each merge."""

from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import MAX_ROWS_PER_MUTABLE_FILE, checkpoint, range_partition
from lakehouse.timestamps import to_micros


def recluster_by_time(lake: Lakehouse, name: str, most: int = MAX_ROWS_PER_MUTABLE_FILE) -> int:
    """Rewrite and range-partition a mutable table from its first oversized file on.

    A merge writes all files that it touches to one, together with new rows. In a table whose last rows are
    touched by every merge, that file would keep growing, and merges would get slower. Open rows, in a
    partition of their own, are left alone: they leave it within the hour.

    Args:
        lake: the tables.
        name: a mutable table, whose lock is held.
        most: rows per file; files with more than twice as many are oversized.

    Returns:
        The number of rows rewritten.
    """
    table = TABLES[name]
    time, closed = str(table.event_time), [f"NOT {column}" for column in table.partitioned_by]
    rows = lake.read(name).where(" AND ".join(closed) or "true")
    files = rows.groupBy("_metadata.file_path").agg(F.count("*").alias("rows"), F.min(time).alias("low"))
    low = files.where(F.col("rows") > 2 * most).agg(F.min("low")).collect()[0][0]
    if low is None:
        return 0
    since = f"{time} >= timestamp_micros({to_micros(low)})"
    rewritten = checkpoint(rows.where(since))
    lake.replace_where(name, " AND ".join([since, *closed]), range_partition(rewritten, time, most))
    return rewritten.count()
