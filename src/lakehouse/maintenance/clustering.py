"""Files that have grown with each swap, laid out by time again."""

from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import ROWS_OF_A_SWAPPED_FILE, in_stretches, settle
from lakehouse.timestamps import to_micros


def lay_out_again(lake: Lakehouse, name: str, most: int = ROWS_OF_A_SWAPPED_FILE) -> int:
    """Write rows anew, from the first on of a file that holds more than twice as many as it should.

    A swap writes all files that it touches to one, with what is new. Of a table whose last rows are touched
    each time that one would grow for good, and each swap take longer. Open rows are left: they
    leave their files within the hour.

    Args:
        lake: the tables.
        name: one whose rows are swapped; its lock is held.
        most: rows of a file.

    Returns:
        How many rows were written.
    """
    table = TABLES[name]
    time, closed = str(table.event_time), [f"NOT {column}" for column in table.partitioned_by]
    rows = lake.read(name).where(" AND ".join(closed) or "true")
    files = rows.groupBy("_metadata.file_path").agg(F.count("*").alias("rows"), F.min(time).alias("low"))
    low = files.where(F.col("rows") > 2 * most).agg(F.min("low")).collect()[0][0]
    if low is None:
        return 0
    since = f"{time} >= timestamp_micros({to_micros(low)})"
    anew = settle(rows.where(since))
    lake.replace_where(name, " AND ".join([since, *closed]), in_stretches(anew, time, most))
    return anew.count()
