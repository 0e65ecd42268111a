"""Removes old versions of a table: files that no row of now is in."""

from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.contracts import TABLES
from lakehouse.contracts.ops import WITHOUT_SPARK
from lakehouse.maintenance.spark_table import configure

_NOW = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}


def purge(spark: SparkSession, name: str, folder: Path | None) -> bool:
    """Remove all versions of a table but the latest.

    In a folder, all files are removed that are not in the latest version: also those that a killed job has
    written and not committed. Nobody may be writing to the table, so its lock has to be held. In a catalog,
    where no lock keeps other applications out, only files are removed that the log says were replaced. Where
    it no longer knows these, all are; except in bronze, to which ingest may be writing.

    Args:
        spark: a session.
        name: the table.
        folder: of the table; None in a catalog.

    Returns:
        Whether they were removed; False in bronze, if the log no longer knows which files were replaced.
    """
    if folder is not None and name in WITHOUT_SPARK:
        from deltalake import DeltaTable  # a workspace has no deltalake

        DeltaTable(folder).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        return True
    configure(spark, _NOW)
    spark.sql(f"REORG TABLE {name} APPLY (PURGE)")  # rows that deletion vectors mark
    if folder is None:
        try:
            spark.sql(f"VACUUM {name} LITE RETAIN 0 HOURS")
        except PySparkException as error:
            if "VACUUM_LITE" not in str(error):
                raise
        else:
            return True
        if TABLES[name].layer == "bronze":
            return False
    spark.sql(f"VACUUM {name} RETAIN 0 HOURS")
    return True
