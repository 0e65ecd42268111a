"""A catalog as a workspace has it: a server of Spark Connect on loopback, over a Hive metastore."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from deltalake import DeltaTable
from pyspark.sql.connect.client import SparkConnectClient

from kit.home import JAVA_OPTIONS
from kit.metastore import answers
from kit.polling import eventually
from lakehouse.delta.table_properties import FEED
from lakehouse.readers.catalog_tables import CatalogTables
from lakehouse.readers.sql_warehouse import SparkConnect
from millrace.environment.jars import spark_jars
from millrace.environment.java import java_executable
from millrace.local.process.ports import HOST, stable_port

CATALOG = "spark_catalog"
_SPARK = Path(pyspark.__file__).parent
_SECONDS = 120.0
_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"


class CatalogServer:
    """A running server.

    Args:
        port: its port on 127.0.0.1.
    """

    def __init__(self, port: int) -> None:
        self.address = f"sc://{HOST}:{port}"
        self.env = {"MILLRACE_CATALOG": CATALOG, "SPARK_REMOTE": self.address}
        """Settings of programs that read the catalog."""
        self._connection = SparkConnect(self.address)

    def run(self, text: str) -> None:
        """Execute a statement."""
        self._connection.session().sql(text).collect()

    def session(self) -> Any:
        """The session of Spark Connect."""
        return self._connection.session()

    def query(self, text: str) -> pa.Table:
        """The result of a query."""
        return self._connection(text, {})

    def tables(self) -> CatalogTables:
        """Its tables, with nothing known of them yet."""
        return CatalogTables(self._connection, CATALOG)

    def register(self, home: Path) -> None:
        """Make the tables of a home those of the catalog, instead of the ones that it has.

        Their commits store changes from then on.
        """
        for layer in ("bronze", "silver", "gold", "ops"):
            self.run(f"DROP DATABASE IF EXISTS {layer} CASCADE")
        for log in sorted(home.glob("warehouse/*/*/_delta_log")):
            layer, name = log.parent.relative_to(home / "warehouse").parts
            self.run(f"CREATE DATABASE IF NOT EXISTS {layer}")
            self.run(f"CREATE TABLE {layer}.{name} USING delta LOCATION '{log.parent}'")
            if not DeltaTable(log.parent).metadata().configuration.get(FEED):
                self.run(f"ALTER TABLE {layer}.{name} SET TBLPROPERTIES ('{FEED}' = 'true')")


@contextmanager
def running_catalog_server(folder: Path) -> Iterator[CatalogServer]:
    """Run a server until the block ends.

    Args:
        folder: an empty folder for its database, tables and log.
    """
    port = stable_port()
    SparkConnectClient._on_exit = lambda _: None  # type: ignore[method-assign]  # the server ends before it
    (folder / "conf").mkdir()
    lines = [f"{name} {value}" for name, value in _spark_conf(folder, port).items()]
    (folder / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
    env = {
        **os.environ,
        "JAVA_HOME": str(java_executable().resolve().parents[1]),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": HOST,
        "TZ": "UTC",
    }
    command = [_SPARK / "bin" / "spark-submit", "--class", _MAIN, "spark-internal"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=log)
    try:
        eventually(lambda: process.poll() is not None or answers(port), _SECONDS, "the server answers")
        assert process.poll() is None, (folder / "server.log").read_text()[-4000:]
        yield CatalogServer(port)
    finally:
        process.kill()
        process.wait()


def _spark_conf(folder: Path, port: int) -> dict[str, str]:
    database = f"jdbc:derby:;databaseName={folder / 'database'};create=true"
    return {
        "spark.master": "local[2]",
        "spark.jars": ",".join(map(str, spark_jars())),
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": HOST,
        "spark.driver.host": HOST,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Duser.timezone=UTC -Dderby.system.home={folder}",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.javax.jdo.option.ConnectionURL": database,
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # VACUUM has 10,000 tasks by default
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",  # VACUUM in tests
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
