"""A TCP proxy that cuts connections at a chosen point."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum


class Cut(Enum):
    """Where a connection is cut."""

    NOWHERE = "nowhere"
    REQUEST = "before the request arrives"
    ANSWER = "before the answer arrives"


@dataclass
class CuttingProxy:
    """A proxy that forwards one request of each connection to a port.

    Args:
        port: the target port on 127.0.0.1.

    Attributes:
        cut: where new connections are cut.
        count: number of connections that were cut.
    """

    port: int
    cut: Cut = Cut.NOWHERE
    count: int = 0
    _server: socket.socket = field(init=False)

    @property
    def address(self) -> int:
        """The port of the proxy."""
        port: int = self._server.getsockname()[1]
        return port

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client, self.cut), daemon=True).start()

    def _pass_on(self, client: socket.socket, cut: Cut) -> None:
        with client, suppress(OSError):
            request = _read_message(client)
            if cut is Cut.REQUEST:
                self.count += 1
                return
            with socket.create_connection(("127.0.0.1", self.port)) as server:
                server.sendall(request)
                answer = _read_message(server)
            if cut is Cut.ANSWER:
                self.count += 1
                return
            client.sendall(answer)


@contextmanager
def cutting_proxy(port: int) -> Iterator[CuttingProxy]:
    """Run a proxy in front of a port until the block ends."""
    proxy = CuttingProxy(port)
    with socket.create_server(("127.0.0.1", 0)) as proxy._server:
        threading.Thread(target=proxy._serve, daemon=True).start()
        yield proxy


def _read_message(connection: socket.socket) -> bytes:
    """One HTTP message with Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].split(b":")[1]) if lengths else 0
    while len(body) < length:
        more = _some(connection)
        body, data = body + more, data + more
    return data


def _some(connection: socket.socket) -> bytes:
    found = connection.recv(65536)
    if not found:
        raise ConnectionResetError
    return found
