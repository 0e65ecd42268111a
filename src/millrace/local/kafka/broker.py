"""Runs a local Kafka: one KRaft node on 127.0.0.1, with its data in the home."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bronze.kafka_auth import PLAINTEXT, Login, broker_login
from lakehouse.errors import MillraceError
from lakehouse.settings import BrokerSecurity
from millrace.local.kafka.broker_setup import check_port, own_id, prepare_broker, server_log
from millrace.local.kafka.kafka_health import cluster_id
from millrace.local.process.child_process import Child, last_error
from millrace.local.process.home_lock import workspace_lock
from millrace.local.process.ports import HOST
from millrace.local.process.process_registry import kill_orphans

READY_SECONDS = 120.0
_STOP_SECONDS = 8.0


@contextmanager
def running_broker(home: Path, port: int, security: BrokerSecurity = "plaintext") -> Iterator[str]:
    """Run a broker during the block; its data is kept.

    The broker also ends when the thread that entered the block ends.

    Args:
        home: the folder of all local state.
        port: port on 127.0.0.1.
        security: authentication of clients.

    Yields:
        The bootstrap address, as host:port.

    Raises:
        MillraceError: if it can't be started or does not answer within a minute, or the home is in use.
    """
    with workspace_lock(home):
        kill_orphans(home)
        check_port(port)
        broker = Child(prepare_broker(home, port, security))
        try:
            wait_until_ready(broker, port, login=broker_login(home, security))
            yield f"{HOST}:{port}"
        finally:
            broker.stop(_STOP_SECONDS)


def is_ready(broker: Child, port: int, login: Login = PLAINTEXT) -> bool:
    """Whether this broker, not another program on its port, answers a metadata request."""
    return cluster_id(f"{HOST}:{port}", 1.0, login) == own_id(broker.program.home / "kafka" / "data")


def wait_until_ready(broker: Child, port: int, login: Login = PLAINTEXT) -> None:
    """Wait for the first answer.

    Raises:
        MillraceError: if the broker ends, or has not answered within `READY_SECONDS`.
    """
    until = time.monotonic() + READY_SECONDS
    while not is_ready(broker, port, login=login):
        if broker.exit_code is not None or time.monotonic() > until:
            raise not_ready(broker)
        time.sleep(0.1)


def not_ready(broker: Child) -> MillraceError:
    """The error for a broker that does not start."""
    home = broker.program.home
    problem = f"the broker does not come up: {last_error_line(home)}"
    return MillraceError(problem, f"See {server_log(home)} and {broker.program.log}")


def last_error_line(home: Path) -> str:
    """The last error that Kafka or its Java reported."""
    java_log = home / "logs" / "broker.out.log"
    return (last_error(server_log(home)) or last_error(java_log) or "its logs are empty")[:300]
