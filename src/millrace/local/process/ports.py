"""Ports on 127.0.0.1: finds free ones, and the process that listens on a taken one."""

import random
import socket
from contextlib import suppress

import psutil

from lakehouse.errors import MillraceError

HOST = "127.0.0.1"
_LASTING = (20_000, 32_000)


def free_port() -> int:
    """A port on which no process listens."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def stable_port() -> int:
    """A free port that stays free until a slow program listens on it.

    It is below the ephemeral ports, which outgoing connections may take at any moment.
    """
    return next(port for port in iter(lambda: random.randrange(*_LASTING), None) if is_free(port))


def is_free(port: int) -> bool:
    """Whether a program could listen on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket() as probe:
        # Like servers: connections of an earlier server in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def port_owner(port: int) -> str | None:
    """The process that listens on the port, as `name (pid N)`; None without permission to see it."""
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid is not None:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return None


def require_free(port: int, purpose: str, next_step: str) -> None:
    """Raise an error if a port is taken.

    Args:
        port: port on 127.0.0.1.
        purpose: what needs it, e.g. "the broker".
        next_step: advice for the user; `{free}` is replaced by a free port.

    Raises:
        MillraceError: if it is taken; the message names the process.
    """
    if is_free(port):
        return
    who = port_owner(port) or "a program that this user can't see"
    raise MillraceError(f"port {port}, for {purpose}, is taken by {who}", next_step.format(free=free_port()))
