"""A network between a client and a server on this machine that can be cut, or hang without data."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Network:
    """A TCP proxy in front of a port on 127.0.0.1.

    Args:
        target: the target port.
    """

    target: int
    _server: socket.socket = field(init=False)
    _open: set[socket.socket] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _is_cut: bool = field(default=False, init=False)
    _passes: threading.Event = field(default_factory=threading.Event, init=False)

    @property
    def port(self) -> int:
        """The port of the proxy."""
        found: int = self._server.getsockname()[1]
        return found

    def cut(self) -> None:
        """Close all connections, and refuse new ones."""
        self._is_cut = True
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def hang(self) -> None:
        """Keep connections open, but forward no data."""
        self._passes.clear()

    def mend(self) -> None:
        """Accept connections and forward data again."""
        self._is_cut = False
        self._passes.set()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
                continue
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        with self._lock:
            self._open |= {client, server}
        back = threading.Thread(target=self._carry, args=(server, client), daemon=True)
        back.start()
        self._carry(client, server)
        back.join()
        with self._lock:
            self._open -= {client, server}
        client.close()
        server.close()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                self._passes.wait()
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


@contextmanager
def network(target: int) -> Iterator[Network]:
    """Run a network in front of a port until the block ends."""
    found = Network(target)
    found.mend()
    with socket.create_server(("127.0.0.1", 0)) as found._server:
        threading.Thread(target=found._serve, daemon=True).start()
        try:
            yield found
        finally:
            found.mend()
            found.cut()
