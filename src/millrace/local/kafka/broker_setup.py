"""Sets up the local Kafka: port, data folder, command line."""

import base64
import importlib.util
import shutil
import subprocess
import uuid
from contextlib import suppress
from pathlib import Path

from lakehouse.errors import MillraceError
from lakehouse.settings import BrokerSecurity
from millrace.environment.jars import broker_jars
from millrace.environment.java import java_executable
from millrace.local.kafka import broker_config
from millrace.local.kafka.login_files import make_login
from millrace.local.process.child_process import Program
from millrace.local.process.ports import HOST, require_free, stable_port

NAME = "broker"
_FORMAT_SECONDS = 60.0
_JVM = (
    "-Xmx512m",
    # Without the C2 compiler, the start needs 60 % of the CPU time, and Spark starts at the same time.
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    "-Duser.timezone=UTC",
)


def check_port(port: int) -> None:
    """Raise an error if the port is taken.

    Raises:
        MillraceError: if the port is taken; the message names the process.
    """
    require_free(
        port,
        "the broker",
        f"Stop that program, or set MILLRACE_BROKER_PORT={{free}}; if it is a Kafka that you want to use, "
        f"set MILLRACE_KAFKA_BOOTSTRAP={HOST}:{port}",
    )


def prepare_broker(home: Path, port: int, security: BrokerSecurity = "plaintext") -> Program:
    """Format the data folder of a new broker, or use an existing one; write its login and configuration.

    Raises:
        MillraceError: if Java or a jar is missing, or the data can't be set up.
    """
    folder = home / "kafka"
    folder.mkdir(parents=True, exist_ok=True)
    (home / "logs").mkdir(exist_ok=True)
    if not (folder / "data").exists():
        _format(folder)
    own_id(folder / "data")
    properties, logging = folder / "server.properties", folder / "log4j2.yaml"
    # Only the broker uses the controller's port, and data does not depend on it: a free one each time.
    make_login(home, security)
    broker_config.write_server_properties(properties, port, stable_port(), folder / "data", security)
    broker_config.write_logging(logging, server_log(home))
    temporary = folder / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)  # native libraries of brokers that were killed
    temporary.mkdir()
    options = (f"-Dlog4j2.configurationFile={logging}", f"-Djava.io.tmpdir={temporary}")
    command = _java(*options, "kafka.Kafka", str(properties))
    return Program(NAME, command, home, log_name="broker.out")


def own_id(data: Path) -> str:
    """The cluster id of the data folder.

    Raises:
        MillraceError: if the folder is not a data folder of Kafka.
    """
    with suppress(OSError):
        for line in (data / "meta.properties").read_text(encoding="utf-8").splitlines():
            if line.startswith("cluster.id="):
                return line.partition("=")[2].strip()
    raise MillraceError(
        f"{data} is not the data of a Kafka", "Remove it, or everything with `millrace reset`"
    )


def server_log(home: Path) -> Path:
    """Kafka's server log; the output of its Java process is next to it, in `broker.out.log`."""
    return home / "logs" / "broker.log"


def _format(folder: Path) -> None:
    """Format the data folder of a new cluster under a temporary name, then rename it."""
    draft, properties = folder / "data.draft", folder / "format.properties"
    shutil.rmtree(draft, ignore_errors=True)
    broker_config.write_server_properties(properties, 1, 2, draft)
    tool = ("kafka.tools.StorageTool", "format", "-t", _new_id(), "-c", str(properties))
    try:
        subprocess.run(_java(*tool), capture_output=True, text=True, timeout=_FORMAT_SECONDS, check=True)
    except subprocess.SubprocessError as error:
        reason = str(getattr(error, "stderr", "") or error).strip().splitlines()[-1]
        raise MillraceError(
            f"no data folder for Kafka: {reason}", f"See that {folder} can be written to"
        ) from error
    draft.rename(folder / "data")


def _new_id() -> str:
    """A cluster id like Kafka's, but without a leading -, which would look like an option."""
    while (drawn := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return drawn


def _java(*arguments: str) -> tuple[str, ...]:
    classpath = ":".join(str(jar) for jar in (*_logging_jars(), *broker_jars()))
    return (str(java_executable()), *_JVM, "-cp", classpath, *arguments)


def _logging_jars() -> list[Path]:
    """PySpark's log4j jars, which come first in the classpath: Kafka's jars have no log backend."""
    pyspark = importlib.util.find_spec("pyspark")
    folder = Path(pyspark.origin).parent / "jars" if pyspark and pyspark.origin else Path()
    names = ("slf4j-api-", "log4j-slf4j2-impl-", "log4j-api-", "log4j-core-")
    return [jar for name in names for jar in sorted(folder.glob(f"{name}*.jar"))]
