"""Runs the streaming API."""

import ctypes
import gc
import importlib
import logging
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

import uvicorn

from lakehouse.http.body_rate import BodyRate
from lakehouse.http.connections import MOST_CONNECTIONS, LimitedProtocol
from lakehouse.http.tls import Tls
from lakehouse.readers.versioned_tables import VersionedTables
from serving.api.application import Site, application
from serving.stream.hub import Hub, Limits
from serving.stream.subscription import Terms

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h
_SEND_BUFFER = 64 << 10
"""Send buffer of a connection (bytes): small, so that the server notices slow subscribers."""


_RECEIVE_BUFFER = 16 << 10
"""Receive buffer of a connection (bytes): small, since all that is in it is parsed at once."""

_SWITCH_SECONDS = 0.0001
"""Seconds after which a thread of Python lets the event loop go on, which waits at each read and write."""
_LATE_IMPORTS = ("anyio._backends._asyncio", "deltalake", "pandas", "pyarrow.parquet")
"""Modules that the first requests would import, with a third of all objects."""
_COLLECTIONS = (5_000, 10, 10)
"""Thresholds of the garbage collector: full collections are rare, since each stops all threads."""
_ARENAS, _MAPPED_BYTES = 2, 128 << 10
"""Heaps of glibc, of which there are 16 on two cores, and bytes of a block that gets pages of its own."""


@dataclass(frozen=True)
class Served:
    """Settings of a server.

    Args:
        address: IP address to listen on.
        port: port to listen on.
        tables: the tables.
        limits: limits of memory and queries.
        terms: default settings of subscriptions.
        send_timeout: seconds within which a subscriber has to take a message.
        site: other settings of the application.
        tls: certificates; None for plain HTTP.
    """

    address: str
    port: int
    tables: VersionedTables
    limits: Limits
    terms: Terms
    send_timeout: float
    site: Site
    tls: Tls | None = None


def serve(served: Served) -> None:
    """Serve until SIGINT or SIGTERM; then disconnect subscribers, which may resume on another server."""
    logging.getLogger("serving").addHandler(logging.StreamHandler())
    hub = Hub(served.tables, served.limits, served.site.home / "serve" / "queries")
    config = uvicorn.Config(
        BodyRate(application(hub, served.terms, served.send_timeout, served.site)),
        host=served.address,
        port=served.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        http=LimitedProtocol,
        timeout_graceful_shutdown=1,
        ws_per_message_deflate=False,
        ws_max_size=64 << 10,
        **(served.tls.options() if served.tls else {}),
    )
    sys.setswitchinterval(_SWITCH_SECONDS)
    _return_memory()
    config.load()
    _exempt_from_collection()
    listening = config.bind_socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
    timeout = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux
    if timeout is not None:
        # Aborts closed connections with unsent data; longer than the send timeout, which is logged.
        listening.setsockopt(socket.IPPROTO_TCP, timeout, int(3_000 * served.send_timeout))
    uvicorn.Server(config).run(sockets=[listening])


def _exempt_from_collection() -> None:
    """Leave the objects of all modules out of garbage collections, for which the event loop waits."""
    for name in _LATE_IMPORTS:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def _return_memory() -> None:
    """Let freed memory go back to the system, where the C library is glibc."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if sys.platform == "linux" and set_option is not None:
        set_option(_M_ARENA_MAX, _ARENAS)
        set_option(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
