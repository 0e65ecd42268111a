"""Location and DDL of tables: they are created, and their schemas evolved, from the contracts."""

import shutil
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from delta.exceptions import DeltaConcurrentModificationException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakehouse.contracts import TABLES, Table
from lakehouse.delta.table_properties import FEED, has_feed, properties_of
from lakehouse.settings import Settings

_CREATION: dict[str, threading.Lock] = defaultdict(threading.Lock)


@dataclass(frozen=True)
class Location:
    """SQL `LOCATION` clauses of a schema and a table; empty where the catalog decides."""

    layer: str = ""
    table: str = ""


def location_of(settings: Settings, name: str) -> Location:
    """A table's `LOCATION` clauses."""
    if settings.catalog:
        return Location()
    folder = settings.warehouse.joinpath(*name.split("."))
    return Location(f" LOCATION '{folder.parent}'", f" LOCATION '{folder}'")


def use_catalog(spark: SparkSession, catalog: str) -> None:
    """Make a catalog the current one of a session.

    By SQL: the API would load the catalog under whichever session is active. As a string: Spark 4.2 does not
    resolve an identifier here in a session with a Hive metastore.
    """
    spark.sql(f"SET CATALOG '{catalog}'")


def exists(spark: SparkSession, settings: Settings, name: str) -> bool:
    """Whether a table exists."""
    if settings.catalog:
        return bool(spark.catalog.tableExists(f"{settings.catalog}.{name}"))
    return any(_log_folder(settings, name).glob("*.json"))


def _log_folder(settings: Settings, name: str) -> Path:
    return settings.warehouse.joinpath(*name.split("."), "_delta_log")


def declare(table: Table, stores_changes: bool = False) -> tuple[str, str]:
    """The columns and the remaining clauses of a table's `CREATE TABLE`.

    Args:
        table: its contract.
        stores_changes: whether commits store changed rows, in Delta's change data feed.
    """
    more = f"PARTITIONED BY ({', '.join(table.partitioned_by)})" if table.partitioned_by else ""
    wanted = {**properties_of(table), **({FEED: "true"} if stores_changes else {})}
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in wanted.items())
    return f"({table.ddl})", f"{more} TBLPROPERTIES ({properties})" if properties else more


def without_rows(spark: SparkSession, table: Table) -> DataFrame:
    """A frame with a table's columns and no rows. Spark leaves out of a query what follows from it alone."""
    columns = (f"CAST(NULL AS {column.type}) AS `{column.name}`" for column in table.columns)
    return spark.sql(f"SELECT {', '.join(columns)} WHERE false")


def evolve_schema(spark: SparkSession, table: Table) -> None:
    """Add and cast columns, so that a table has the schema of its contract.

    New columns are null in existing rows. A column of another type is cast, which rewrites the table.
    """
    there = {field.name: field.dataType for field in spark.table(table.name).schema}
    missing = [f"`{column.name}` {column.type}" for column in table.columns if column.name not in there]
    if missing:
        spark.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({', '.join(missing)})")
    others = [column for column in table.columns if _is_another(there.get(column.name), column.type)]
    if others:
        cast = spark.table(table.name).withColumns(
            {column.name: F.col(column.name).cast(column.type) for column in others}
        )
        writer = cast.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.partitionBy(*table.partitioned_by).saveAsTable(table.name)


def _is_another(there: DataType | None, wanted: str) -> bool:
    return there is not None and there.simpleString() != DataType.fromDDL(wanted).simpleString()


class DeclaredTables:
    """Creates tables when they are first written, with the columns of their contracts.

    Args:
        spark: the job's session.
        settings: the settings in force.
    """

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings
        self._ready: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether a table exists. Evolves its schema before its first use."""
        if name not in self._ready and exists(self._spark, self._settings, name):
            self.ensure(name)
        return name in self._ready

    def ensure(self, name: str) -> None:
        """Create a table if it does not exist, else evolve its schema."""
        if name in self._ready:
            return
        with _CREATION[name]:
            if name not in self._ready:
                self._prepare(TABLES[name])
                self._ready.add(name)

    def _prepare(self, table: Table) -> None:
        where = location_of(self._settings, table.name)
        is_new = not exists(self._spark, self._settings, table.name)
        stores_changes = bool(self._settings.catalog) and has_feed(table)
        columns, more = declare(table, stores_changes) if is_new else ("", "")
        if is_new and not self._settings.catalog:
            # A process that is killed while it creates the table leaves a log without commits.
            shutil.rmtree(_log_folder(self._settings, table.name), ignore_errors=True)
        if not self._has_layer(table.layer):
            self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {table.layer}{where.layer}")
        self._spark.sql(f"CREATE TABLE IF NOT EXISTS {table.name} {columns} USING delta{where.table} {more}")
        if not is_new:
            evolve_schema(self._spark, table)
            if stores_changes:
                self._store_changes(table.name)

    def _store_changes(self, name: str) -> None:
        """Set the change data feed of a table that was created without it, or let another job have set it."""

        def is_set() -> bool:
            found = self._spark.sql(f"SHOW TBLPROPERTIES {name}").where(F.col("key") == FEED).collect()
            return bool(found) and found[0].value == "true"

        if not is_set():
            try:
                self._spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{FEED}' = 'true')")
            except DeltaConcurrentModificationException:
                if not is_set():
                    raise

    def _has_layer(self, layer: str) -> bool:
        """Whether a catalog has the schema. The bundle creates it for users who may not create schemas."""
        catalog = self._settings.catalog
        return bool(catalog) and self._spark.catalog.databaseExists(f"{catalog}.{layer}")
