"""Runs jobs of an installed wheel in an existing Spark application: `given_spark.py HOME CALLS CONF`.

`CALLS` is a JSON list of lists: an entry point and its parameters, in which `{visitor}` is a visitor of
silver.events. `CONF` is a JSON object with Spark
settings. The session is built as in Delta's documentation. It has a database per layer, like a workspace,
with the tables of the home, and Python workers of this environment. Prints the row counts of some tables.
"""

import json
import os
import sys
from importlib.metadata import distribution
from pathlib import Path

import pyspark
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_TABLES = ("bronze.kafka_records", "silver.events", "silver.sessions", "gold.attribution")


def main() -> None:
    home, calls = Path(sys.argv[1]), json.loads(sys.argv[2])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    settings = {**_SETTINGS, **json.loads(sys.argv[3])}
    if own := os.environ.get("MILLRACE_IVY_SETTINGS"):
        settings = {**settings, "spark.jars.ivySettings": own}
    for name, value in settings.items():
        builder = builder.config(name, value)
    kafka = [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"]
    packages = kafka if "millrace-ingest" in (name for name, *_ in calls) else []
    spark = configure_spark_with_delta_pip(builder, packages).getOrCreate()
    for layer in ("bronze", "silver", "gold", "ops"):
        folder = home / "warehouse" / layer
        spark.sql(f"CREATE DATABASE {layer} LOCATION '{folder}'")
        for table in filter(Path.is_dir, folder.glob("*")):  # created by an earlier command
            spark.sql(f"CREATE TABLE {layer}.{table.name} USING delta LOCATION '{table}'")
    for name, *parameters in calls:
        (entry,) = [each for each in distribution("millrace").entry_points if each.name == name]
        sys.argv = ["python", *(_with_visitor(spark, each) for each in parameters)]
        entry.load()()
    for table in _TABLES:
        sys.stdout.write(f"ROWS {table} {spark.table(table).count()}\n")
    spark.stop()


def _with_visitor(spark: SparkSession, parameter: str) -> str:
    if "{visitor}" not in parameter:
        return parameter
    return parameter.format(visitor=spark.sql("SELECT min(visitor_id) FROM silver.events").collect()[0][0])


if __name__ == "__main__":
    main()
