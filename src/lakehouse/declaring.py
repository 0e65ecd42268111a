"""Where a table is, and what is said of it when it is made."""

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakehouse.contracts import Table
from lakehouse.settings import Settings


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


def declare(table: Table) -> tuple[str, str]:
    """The columns, and what else is to be said of a table that is made."""
    more = f"PARTITIONED BY ({', '.join(table.partitioned_by)})" if table.partitioned_by else ""
    all_of_them = dict(table.properties)
    if table.pruned_by:
        all_of_them["delta.dataSkippingStatsColumns"] = ",".join(table.pruned_by)
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in all_of_them.items())
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
