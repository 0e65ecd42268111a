"""One Spark application for all tests, and empty homes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from kit.home import JAVA_OPTIONS
from lakehouse.run.spark_session import build_session
from lakehouse.settings import Settings, load_settings
from millrace.environment.jars import spark_jars

_LAYERS = ("bronze", "silver", "gold", "ops")


@contextmanager
def spark_application(home: Path) -> Iterator[SparkSession]:
    """Start the application. At the end, stop it and its Java process."""
    session = build_session(load_settings(home=home, spark_java_options=JAVA_OPTIONS), spark_jars())
    try:
        yield session
    finally:
        gateway: Any = SparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(20)
        SparkContext._gateway = SparkContext._jvm = None


def forget_tables(spark: SparkSession) -> None:
    """Drop the databases of earlier homes from the shared catalog."""
    for layer in _LAYERS:
        spark.sql(f"DROP DATABASE IF EXISTS {layer} CASCADE")


def empty_home(spark: SparkSession, home: Path, **flags: Any) -> Settings:
    """Settings of a new home, whose tables the shared catalog does not know yet."""
    forget_tables(spark)
    return load_settings(home=home, **flags)


def catalog_in(spark: SparkSession, settings: Settings) -> Settings:
    """Settings of jobs on the shared catalog, whose tables are in the folders of a home's tables."""
    for layer in _LAYERS:
        spark.sql(f"CREATE DATABASE {layer} LOCATION '{settings.warehouse / layer}'")
    return settings.model_copy(update={"catalog": "spark_catalog"})
