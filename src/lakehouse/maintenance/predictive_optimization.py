"""Predictive optimization: a workspace runs OPTIMIZE and VACUUM on its own, schema by schema."""

from typing import Literal

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings

_ITEM = "predictive optimization"
"""Item of DESCRIBE SCHEMA EXTENDED; its value is as `ENABLE (inherited from METASTORE main)`."""


def optimized_schemas(spark: SparkSession, settings: Settings, schemas: set[str]) -> set[str]:
    """The schemas that the workspace optimizes, after `settings.predictive_optimization` is applied.

    Args:
        spark: a session of the workspace.
        settings: without a catalog, no schema is optimized.
        schemas: existing schemas of the catalog.

    Raises:
        MillraceError: if the workspace refuses the setting.
    """
    if settings.catalog is None:
        return set()
    names = {schema: f"`{settings.catalog}`.`{schema}`" for schema in sorted(schemas)}
    if settings.predictive_optimization != "INHERIT":
        for name in names.values():
            _set(spark, name, settings.predictive_optimization)
    return {schema for schema, name in names.items() if _is_in_force(spark, name)}


def _set(spark: SparkSession, schema: str, choice: Literal["ENABLE", "DISABLE"]) -> None:
    """Set it for a schema, unless the schema has that value of its own."""
    if _value(spark, schema).upper() == choice:
        return
    try:
        spark.sql(f"ALTER SCHEMA {schema} {choice} PREDICTIVE OPTIMIZATION")
    except PySparkException as error:
        raise MillraceError(
            f"predictive optimization of {schema} can't be set: {' '.join(str(error).split()).rstrip('.')}",
            "Set predictive_optimization to INHERIT, or run maintenance as the owner of the schema",
        ) from error


def _is_in_force(spark: SparkSession, schema: str) -> bool:
    return _value(spark, schema).upper().startswith("ENABLE")


def _value(spark: SparkSession, schema: str) -> str:
    for item, value, *_ in spark.sql(f"DESCRIBE SCHEMA EXTENDED {schema}").collect():
        if item.lower() == _ITEM:
            return str(value).strip()
    return ""  # the runtime has no predictive optimization
