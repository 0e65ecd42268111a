"""A real Kafka on this machine: one KRaft node on 127.0.0.1, its data under the home."""

import base64
import importlib.util
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lakehouse.errors import MillraceError
from millrace.machine.jars import broker_jars
from millrace.machine.java import java_executable
from millrace.workspace import broker_config
from millrace.workspace.kafka_health import cluster_id
from millrace.workspace.lock import workspace_lock
from millrace.workspace.ports import HOST, free_port, require_free
from millrace.workspace.processes import Child, Program, last_error
from millrace.workspace.records import end_leftovers

NAME = "broker"
READY_SECONDS = 60.0
_STOP_SECONDS = 8.0
_FORMAT_SECONDS = 60.0
_JVM = (
    "-Xmx512m",
    # Without the second compiler it starts on 60 % of the processor time, which Spark has use for by then.
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    "-Duser.timezone=UTC",
)


@contextmanager
def running_broker(home: Path, port: int) -> Iterator[str]:
    """A broker for as long as the block runs; its data stays for the next time.

    It is tied to the thread that enters the block: when that ends, so does the broker.

    Args:
        home: the folder of all local state.
        port: on 127.0.0.1.

    Yields:
        Where clients find it, as host:port.

    Raises:
        MillraceError: if it can't be started or does not answer within a minute, or the home is in use.
    """
    with workspace_lock(home):
        end_leftovers(home)
        check_port(port)
        broker = Child(prepare_broker(home, port))
        try:
            wait_until_ready(broker, port)
            yield f"{HOST}:{port}"
        finally:
            broker.stop(_STOP_SECONDS)


def check_port(port: int) -> None:
    """Refuse a port that is taken.

    Raises:
        MillraceError: naming who has it.
    """
    require_free(
        port,
        "the broker",
        f"Stop that program, or set MILLRACE_BROKER_PORT={{free}}; if it is a Kafka that you want to use, "
        f"set MILLRACE_KAFKA_BOOTSTRAP={HOST}:{port}",
    )


def prepare_broker(home: Path, port: int) -> Program:
    """Set up the data of a new broker, or take what an earlier one left; write what it is started with.

    Raises:
        MillraceError: if Java or a jar is missing, or the data can't be set up.
    """
    folder = home / "kafka"
    folder.mkdir(parents=True, exist_ok=True)
    (home / "logs").mkdir(exist_ok=True)
    if not (folder / "data").exists():
        _format(folder)
    _own_id(folder / "data")
    properties, logging = folder / "server.properties", folder / "log4j2.yaml"
    # The controller's port is nobody else's business, and not part of the data: a new free one each time.
    broker_config.write_server_properties(properties, port, free_port(), folder / "data")
    broker_config.write_logging(logging, server_log(home))
    command = _java(f"-Dlog4j2.configurationFile={logging}", "kafka.Kafka", str(properties))
    return Program(NAME, command, home, log_name="broker.out")


def is_ready(broker: Child, port: int, seconds: float = 1.0) -> bool:
    """Whether this broker, and not another program on its port, answers a metadata request."""
    return cluster_id(f"{HOST}:{port}", seconds) == _own_id(broker.program.home / "kafka" / "data")


def wait_until_ready(broker: Child, port: int, seconds: float = READY_SECONDS) -> None:
    """Wait for the first answer.

    Raises:
        MillraceError: if the broker ends, or has not answered within the time (seconds).
    """
    until = time.monotonic() + seconds
    while not is_ready(broker, port):
        if broker.exit_code is not None or time.monotonic() > until:
            raise not_ready(broker)
        time.sleep(0.1)


def not_ready(broker: Child) -> MillraceError:
    """What to tell of a broker that does not come up."""
    home = broker.program.home
    problem = f"the broker does not come up: {last_words(home)}"
    return MillraceError(problem, f"See {server_log(home)} and {broker.program.log}")


def last_words(home: Path) -> str:
    """The last error that Kafka or its Java reported."""
    java_log = home / "logs" / "broker.out.log"
    return (last_error(server_log(home)) or last_error(java_log) or "its logs are empty")[:300]


def server_log(home: Path) -> Path:
    """Kafka's own log; what Java prints by itself is beside it, in `broker.out.log`."""
    return home / "logs" / "broker.log"


def _format(folder: Path) -> None:
    """Make the empty data of a new cluster: beside its place first, so that a half-made one is never used."""
    draft, properties = folder / "data.draft", folder / "format.properties"
    shutil.rmtree(draft, ignore_errors=True)
    broker_config.write_server_properties(properties, 1, 2, draft)
    new_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    tool = ("kafka.tools.StorageTool", "format", "-t", new_id, "-c", str(properties))
    try:
        subprocess.run(_java(*tool), capture_output=True, text=True, timeout=_FORMAT_SECONDS, check=True)
    except subprocess.SubprocessError as error:
        told = str(getattr(error, "stderr", "") or error).strip().splitlines()[-1]
        raise MillraceError(
            f"no data folder for Kafka: {told}", f"See that {folder} can be written to"
        ) from error
    draft.rename(folder / "data")


def _own_id(data: Path) -> str:
    """The cluster's id, as it was set up.

    Raises:
        MillraceError: if the folder is not what a Kafka left there.
    """
    with suppress(OSError):
        for line in (data / "meta.properties").read_text(encoding="utf-8").splitlines():
            if line.startswith("cluster.id="):
                return line.partition("=")[2].strip()
    raise MillraceError(
        f"{data} is not the data of a Kafka", "Remove it, or everything with `millrace reset`"
    )


def _java(*arguments: str) -> tuple[str, ...]:
    classpath = ":".join(str(jar) for jar in (*_logging_jars(), *broker_jars()))
    return (str(java_executable()), *_JVM, "-cp", classpath, *arguments)


def _logging_jars() -> list[Path]:
    """Kafka's jars come without a way to write its log: PySpark's log4j, put first, provides it."""
    pyspark = importlib.util.find_spec("pyspark")
    folder = Path(pyspark.origin).parent / "jars" if pyspark and pyspark.origin else Path()
    names = ("slf4j-api-", "log4j-slf4j2-impl-", "log4j-api-", "log4j-core-")
    return [jar for name in names for jar in sorted(folder.glob(f"{name}*.jar"))]
