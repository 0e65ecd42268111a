"""Checks whether a Kafka answers metadata requests."""

import logging
import socket
import time
from contextlib import suppress

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from bronze.kafka_auth import PLAINTEXT, Login, client_options
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings

# The library warns on every retry; users get one MillraceError.
logging.getLogger("kafka").addHandler(logging.NullHandler())


def cluster_id(bootstrap: str, seconds: float = 2.0, login: Login = PLAINTEXT) -> str | None:
    """The id of the cluster that answers a metadata request with at least one broker.

    Args:
        bootstrap: host:port, or several separated by commas.
        seconds: timeout.
        login: options of the connection.

    Returns:
        The id, or None if no Kafka answers.
    """
    if not any(_listens(address, seconds) for address in bootstrap.split(",")):
        return None  # checked first, since the client keeps threads for brokers that do not answer
    milliseconds = int(seconds * 1000)
    with suppress(KafkaError, OSError, ValueError):
        admin = KafkaAdminClient(
            bootstrap_servers=bootstrap.split(","),
            bootstrap_timeout_ms=milliseconds,
            request_timeout_ms=milliseconds,
            **login,
        )
        with admin:
            answer = admin.describe_cluster()
            return str(answer["cluster_id"]) if answer["brokers"] else None
    return None


def require_kafka(settings: Settings, seconds: float = 5.0) -> None:
    """Raise an error if a configured Kafka does not answer.

    Raises:
        MillraceError: if it does not answer in time, or the login is incomplete.
    """
    until = time.monotonic() + seconds
    login = client_options(settings)
    while cluster_id(settings.bootstrap, login=login) is None:
        if time.monotonic() > until:
            raise MillraceError(
                f"no Kafka answers at {settings.bootstrap}",
                "Correct MILLRACE_KAFKA_BOOTSTRAP or the login (MILLRACE_KAFKA_...), "
                "or unset them to use the local broker",
            )
        time.sleep(0.2)


def _listens(address: str, seconds: float) -> bool:
    host, _, port = address.strip().rpartition(":")
    with suppress(OSError, ValueError):
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
        return True
    return False
