"""A fork server: a process with everything imported that queries need, which forks one process for each.

Python's own imports the main module again in each process, which takes longer than most queries.
"""

import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

_IMPORTED = ("deltalake", "duckdb", "pandas", "pyarrow.parquet", "serving.processes.query_tasks")
_END_SECONDS, _BYTES = 5.0, 64 << 10


class ForkServer:
    """Starts the fork server with the first process, and again if it has died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def start(self) -> None:
        """Start the fork server, which imports modules while others go on."""
        with self._lock:
            self._server = self._server or _start()

    @contextmanager
    def fork(self) -> Iterator[Connection]:
        """A connection to a new process, which runs one task. After the block, the process has ended."""
        with self._fork() as connection:
            try:
                yield connection
            finally:
                _await_end(connection)

    def _fork(self) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            for is_last in (False, True):
                self._server = self._server or _start()
                try:
                    socket.send_fds(self._server.side, [b"\0"], [theirs.fileno()])
                    break
                except OSError:  # it has died
                    self._server.end()
                    self._server = None
                    if is_last:
                        raise
        return Connection(ours.detach())

    def stop(self) -> None:
        """End the fork server."""
        with self._lock:
            if self._server is not None:
                self._server.end()
                self._server = None


class _Server(NamedTuple):
    """A running fork server.

    Args:
        side: receives the connections of new processes; it ends when this is closed.
        process: the process.
    """

    side: socket.socket
    process: "subprocess.Popen[bytes]"

    def end(self) -> None:
        """End it, and leave no zombie. Queries go on."""
        self.side.close()
        self.process.kill()
        self.process.wait()


def _await_end(connection: Connection) -> None:
    """Tell a process to end, and wait until it has: until nobody has the other side of its connection."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as side:
        side.shutdown(socket.SHUT_WR)
        side.settimeout(_END_SECONDS)
        while side.recv(_BYTES):
            pass


def _start() -> _Server:
    ours, theirs = socket.socketpair()
    with theirs:
        number = str(theirs.fileno())
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, number],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "1"},
        )
    return _Server(ours, process)


def serve(server: socket.socket, run: Callable[[Connection], None]) -> None:
    """Fork a process for each connection that comes, until the parent closes the socket.

    Args:
        server: receives connections.
        run: serves one of them in its process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets ended processes
    gc.freeze()  # so that processes share these objects
    while True:
        _, files, _, _ = socket.recv_fds(server, 1, 1)
        if not files:
            os._exit(0)
        if os.fork() == 0:
            server.close()
            try:
                run(Connection(files[0]))
            finally:
                os._exit(0)
        os.close(files[0])


if __name__ == "__main__":
    for name in _IMPORTED:
        importlib.import_module(name)
    tasks = importlib.import_module("serving.processes.query_tasks")
    tasks.warm_up()
    serve(socket.socket(fileno=int(sys.argv[1])), tasks.serve)
