"""Where a table is, and its declaration when it is created."""

import threading
from collections import defaultdict
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakehouse.contracts import TABLES, Table
from lakehouse.delta.local_access import LocalAccess
from lakehouse.delta.table_properties import default_properties, properties_of
from lakehouse.settings import Settings

_CREATION: dict[str, threading.Lock] = defaultdict(threading.Lock)


@dataclass(frozen=True)
class Place:
    """Where a layer and a table are, as SQL; empty where the catalog decides."""

    layer: str = ""
    table: str = ""


def place_of(spark: SparkSession, settings: Settings, name: str) -> tuple[bool, Place]:
    """Whether a table is new, and what says where it is: in a catalog, the catalog knows."""
    if settings.catalog:
        return not spark.catalog.tableExists(f"{settings.catalog}.{name}"), Place()
    layer, short = name.split(".")
    location = settings.warehouse / layer / short
    is_new = not (location / "_delta_log").exists()
    return is_new, Place(f" LOCATION '{location.parent}'", f" LOCATION '{location}'")


def exists(spark: SparkSession, settings: Settings, name: str) -> bool:
    """Whether a table has been made yet."""
    return not place_of(spark, settings, name)[0]


def declare(table: Table) -> tuple[str, str]:
    """The columns, and what else is to be said of a table that is created."""
    more = f"PARTITIONED BY ({', '.join(table.partitioned_by)})" if table.partitioned_by else ""
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in properties_of(table).items())
    return f"({table.ddl})", f"{more} TBLPROPERTIES ({properties})" if properties else more


def bring_up_to_date(spark: SparkSession, table: Table) -> None:
    """What the contract has changed since a table was made.

    Columns that are new are null in the rows that are there. Those of another type are cast, in one commit
    that writes all rows anew.
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
    """Tables that exist once they are asked for, with the columns of their contracts.

    Args:
        spark: the job's session.
        settings: the settings in force.
        local: creates tables without Spark, where it can.

    Attributes:
        is_empty: tables that this object has created and nothing was written to since.
    """

    def __init__(self, spark: SparkSession, settings: Settings, local: LocalAccess) -> None:
        self._spark = spark
        self._settings = settings
        self._local = local
        self._ready: set[str] = set()
        self._registered: set[str] = set()
        self.is_empty: set[str] = set()

    def ensure(self, name: str) -> None:
        """Create a table if it isn't there; bring its columns up to date if it is."""
        if name in self._ready:
            return
        with _CREATION[name]:
            if name not in self._ready:
                defaults = default_properties(self._settings.vacuum_retention)
                if not self._local.ensure(TABLES[name], {**defaults, **properties_of(TABLES[name])}):
                    self._register(name)
                self._ready.add(name)

    def register(self, name: str) -> None:
        """The same, and make it known to Spark by its name."""
        self.ensure(name)
        with _CREATION[name]:
            self._register(name)

    def _register(self, name: str) -> None:
        if name not in self._registered:
            self._create(TABLES[name])
            self._registered.add(name)

    def _create(self, table: Table) -> None:
        is_new, where = place_of(self._spark, self._settings, table.name)
        columns, more = declare(table) if is_new else ("", "")
        if is_new:
            self.is_empty.add(table.name)
        if not self._has_layer(table.layer):
            self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {table.layer}{where.layer}")
        self._spark.sql(f"CREATE TABLE IF NOT EXISTS {table.name} {columns} USING delta{where.table} {more}")
        if not is_new and table.name not in self._ready:
            bring_up_to_date(self._spark, table)

    def _has_layer(self, layer: str) -> bool:
        """Whether a catalog has the schema: who may not create one may use what the bundle has created."""
        catalog = self._settings.catalog
        return bool(catalog) and self._spark.catalog.databaseExists(f"{catalog}.{layer}")
