"""Runs the streaming API."""

import logging
import socket
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from lakehouse.tls import Tls
from serving.api.application import Site, application
from serving.stream.hub import Hub, Limits
from serving.stream.subscription import Terms

_CONNECTIONS = 4096
"""More are answered with 503."""
_SEND_BUFFER = 64 << 10
"""Bytes that the system keeps for a connection: what a slow subscriber has not taken has to be seen here."""


@dataclass(frozen=True)
class Served:
    """What is served, and where.

    Args:
        address: IP address to listen on.
        port: port to listen on.
        warehouse: folder of the tables.
        limits: what the server may use.
        terms: how subscribers are served, unless they ask otherwise.
        send_timeout: seconds within which a subscriber has to take a message.
        site: what the application needs beside the tables.
        tls: certificates; None for plain HTTP.
    """

    address: str
    port: int
    warehouse: Path
    limits: Limits
    terms: Terms
    send_timeout: float
    site: Site
    tls: Tls | None = None


def serve(served: Served) -> None:
    """Serve until SIGINT or SIGTERM; subscribers are disconnected then, and go on elsewhere."""
    logging.getLogger("serving").addHandler(logging.StreamHandler())
    hub = Hub(served.warehouse, served.limits)
    config = uvicorn.Config(
        application(hub, served.terms, served.send_timeout, served.site),
        host=served.address,
        port=served.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=1,
        ws_per_message_deflate=False,
        ws_max_size=64 << 10,
        **(served.tls.options() if served.tls else {}),
    )
    listening = config.bind_socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    timeout = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux
    if timeout is not None:
        # Later than the send timeout, which is logged: it ends what is left of a connection that was closed.
        listening.setsockopt(socket.IPPROTO_TCP, timeout, int(3_000 * served.send_timeout))
    uvicorn.Server(config).run(sockets=[listening])
