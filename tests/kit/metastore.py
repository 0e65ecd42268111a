"""A Hive metastore on loopback, and Spark applications on its catalog, each a Java process of its own."""

import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path

import pyspark

from kit.home import JAVA_OPTIONS, ROOT
from kit.polling import eventually
from lakehouse.settings import Settings
from millrace.environment.jars import spark_jars
from millrace.environment.java import java_executable
from millrace.local.process.ports import HOST, stable_port

_SPARK = Path(pyspark.__file__).parent
_LOG_STORE = "AtomicLogStore"
_SECONDS = 120.0


class Metastore:
    """A running metastore.

    Args:
        folder: folder of its database, logs and configuration.
        port: its port on 127.0.0.1.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        conf = folder / "conf"
        conf.mkdir()
        _events(folder).mkdir()
        lines = [f"{name} {value}" for name, value in _spark_conf(folder, port).items()]
        (conf / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
        self._env = {
            **os.environ,
            "SPARK_CONF_DIR": str(conf),
            "SPARK_LOCAL_IP": HOST,
            "JAVA_HOME": str(java_executable().resolve().parents[1]),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT / "src"),
            "TZ": "UTC",
            "MILLRACE_MAX_BATCH_ROWS": "1",  # a micro-batch for each commit of the job before
        }

    def register(self, warehouse: Path, tables: Mapping[str, Path]) -> None:
        """Declare tables that are folders, and their schemas.

        Args:
            warehouse: folder of the schemas.
            tables: folder by name.
        """
        layers = sorted({name.partition(".")[0] for name in tables})
        statements = [f"CREATE DATABASE {layer} LOCATION '{warehouse / layer}'" for layer in layers]
        statements += [
            f"CREATE TABLE {name} USING delta LOCATION '{place}'" for name, place in tables.items()
        ]
        lines = ["from pyspark.sql import SparkSession", "spark = SparkSession.builder.getOrCreate()"]
        lines += [f"spark.sql({statement!r})" for statement in statements]
        assert self._submit("register", lines).has_ended()

    def start(self, job: str, settings: Settings) -> "Application":
        """Start the entry point of a job of silver, which ends when it has caught up."""
        lines = [f"from silver.entry_points import {job}", f"{job}()"]
        options = ("--catalog=spark_catalog", "--trigger=available-now")
        return self._submit(job, lines, f"--home={settings.home}", *options)

    def ran_at_the_same_time(self) -> bool:
        """Whether two applications have run Spark jobs at the same time, refused commits included."""
        spans = [_job_spans(log) for log in _events(self._folder).iterdir()]
        return any(
            begin < other_end and other_begin < end
            for one, other in combinations(spans, 2)
            for begin, end in one
            for other_begin, other_end in other
        )

    def _submit(self, name: str, lines: list[str], *arguments: str) -> "Application":
        script, log = self._folder / f"{name}.py", self._folder / f"{name}.log"
        script.write_text("\n".join(lines) + "\n")
        command = [_SPARK / "bin" / "spark-submit", script, *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(command, env=self._env, cwd=ROOT, stdout=output, stderr=output)
        return Application(process, log)


class Application:
    """A process of `spark-submit`.

    Args:
        process: the process.
        log: its output.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process = process
        self._log = log

    def has_ended(self) -> bool:
        """Wait for its end. False if commits of another application were in its way each time.

        Raises:
            AssertionError: if it fails otherwise.
        """
        code, reported = self._process.wait(_SECONDS * 4), self._log.read_text()
        refused = code != 0 and "another application has changed" in reported
        assert code == 0 or refused, reported[-4000:]
        return not refused


@contextmanager
def running_metastore(folder: Path) -> Iterator[Metastore]:
    """Run a metastore over an embedded database until the block ends."""
    port = stable_port()
    database = f"jdbc:derby:;databaseName={folder / 'database'};create=true"
    conf = {
        "javax.jdo.option.ConnectionURL": database,
        "datanucleus.schema.autoCreateAll": "true",
        "hive.async.log.enabled": "false",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": str(folder / "warehouse"),
    }
    words = [word for name, value in conf.items() for word in ("--hiveconf", f"{name}={value}")]
    main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
    command = [str(java_executable()), f"-Dderby.system.home={folder}", "-cp", f"{_SPARK / 'jars'}/*", main]
    with (folder / "metastore.log").open("wb") as log:
        server = subprocess.Popen([*command, "-p", str(port), *words], cwd=folder, stdout=log, stderr=log)
    try:
        eventually(lambda: server.poll() is not None or answers(port), _SECONDS, "the metastore answers")
        assert server.poll() is None, (folder / "metastore.log").read_text()
        yield Metastore(folder, port)
    finally:
        server.kill()
        server.wait()


def _events(folder: Path) -> Path:
    return folder / "events"


def _job_spans(log: Path) -> list[tuple[int, int]]:
    """Start and end of the Spark jobs of an application, by its event log."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ends = {
        each["Job ID"]: each["Completion Time"] for each in events if each["Event"] == "SparkListenerJobEnd"
    }
    starts = {
        each["Job ID"]: each["Submission Time"] for each in events if each["Event"] == "SparkListenerJobStart"
    }
    return [(begin, ends[job]) for job, begin in starts.items() if job in ends]


def answers(port: int) -> bool:
    """Whether a server accepts connections at a port of this machine."""
    with suppress(OSError):
        socket.create_connection((HOST, port), timeout=1).close()
        return True
    return False


def _spark_conf(folder: Path, port: int) -> dict[str, str]:
    """What a runtime sets for all its applications."""
    return {
        "spark.master": "local[2]",
        "spark.jars": ",".join(map(str, (*spark_jars(), _log_store(folder)))),
        "spark.delta.logStore.file.impl": _LOG_STORE,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Duser.timezone=UTC",
        "spark.hadoop.hive.exec.scratchdir": str(folder / "hive"),
        "spark.hadoop.hive.metastore.uris": f"thrift://{HOST}:{port}",
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(_events(folder)),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }


def _log_store(folder: Path) -> Path:
    """A jar of the log store, compiled by the compiler that Spark has for generated code."""
    classes, made = folder / "classes", folder / "log-store.jar"
    jars = [*(_SPARK / "jars").glob("*.jar"), *spark_jars()]
    compiler = [jar for jar in jars if jar.name.startswith(("janino-", "commons-compiler-"))]
    hadoop = [jar for jar in jars if jar.name.startswith(("delta-storage-", "hadoop-client-api-"))]
    source = Path(__file__).with_name(f"{_LOG_STORE}.java")
    main = "org.codehaus.commons.compiler.samples.CompilerDemo"
    command = [str(java_executable()), "-cp", os.pathsep.join(map(str, compiler)), main]
    command += ["-d", str(classes), "-classpath", os.pathsep.join(map(str, hadoop)), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(made, "w") as jar:
        jar.write(classes / f"{_LOG_STORE}.class", f"{_LOG_STORE}.class")
    return made
