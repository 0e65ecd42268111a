"""Starts the Spark session of a local or stand-alone application."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.delta.table_properties import default_properties
from lakehouse.settings import Settings

# Each value has its evidence in docs/decisions/0002-spark-settings.md.
_SESSION = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": Path(__file__).with_name("scheduler_pools.xml").as_uri(),
    "spark.buffer.pageSize": "2m",
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    # Keys of a micro-batch are broadcast by hint. By size, Spark would broadcast history too.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.constraintPropagation.enabled": "false",
    # A filter of a megabyte for each join costs more than the rows of a micro-batch that it would skip.
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
}

_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}
_CLUSTER = {
    "spark.sql.adaptive.enabled": "true",
    "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
}


_TABLE_DEFAULTS = "databricks.delta.properties.defaults"
JVM_OPTIONS = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000 -XX:ReservedCodeCacheSize=640m"
)
"""Java options of an application on this machine: the second compiler's thresholds are ten times as high."""


def build_session(settings: Settings, jars: Sequence[Path]) -> SparkSession:
    """Start a Spark application with Kafka and Delta, on this machine or on a cluster.

    Args:
        settings: the settings in force.
        jars: jars to add to Spark's classpath.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()  # else collected times are off by the machine's time zone
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the first python3 of the path
    cores = os.cpu_count() or 2
    scratch = settings.home / "spark"
    temporary = scratch / "tmp"  # with native libraries, which Java leaves there when it is killed
    temporary.mkdir(parents=True, exist_ok=True)
    java_options = settings.spark_java_options or JVM_OPTIONS
    builder = (
        SparkSession.builder.appName("millrace")
        .master(settings.spark_master or f"local[{cores}]")
        .config("spark.jars", ",".join(str(jar) for jar in jars))
        .config("spark.driver.memory", settings.spark_memory)
        .config(
            "spark.driver.extraJavaOptions",
            f"{java_options} -Duser.timezone=UTC -Dderby.system.home={scratch} -Djava.io.tmpdir={temporary}",
        )
        .config("spark.local.dir", str(scratch))
        .config("spark.sql.warehouse.dir", str(settings.warehouse))
    )
    if not settings.spark_master:
        builder = builder.config("spark.sql.shuffle.partitions", str(cores))
    placed = _CLUSTER | {"spark.executor.memory": settings.spark_memory} if settings.spark_master else _LOCAL
    defaults = default_properties(settings.vacuum_retention, settings.feed_retention).items()
    tables = {f"spark.{_TABLE_DEFAULTS}.{name.removeprefix('delta.')}": value for name, value in defaults}
    for name, value in {**_SESSION, **placed, **tables}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
