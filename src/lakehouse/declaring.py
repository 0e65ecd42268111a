"""Where a table is, and what is said of it when it is made."""

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructType

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


def has_other_types(table: Table, there: StructType) -> bool:
    """Whether a table was made when columns of its contract had other types."""
    types = {field.name: field.dataType.simpleString() for field in there}
    return any(types[each.name] != DataType.fromDDL(each.type).simpleString() for each in table.columns)
