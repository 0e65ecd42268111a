"""Connections that send nothing, or too little, are closed; meanwhile others are served."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from kit.api_process import api_process
from kit.collecting import ONE_SOURCE, collector, with_sources
from kit.home import Home
from lakehouse.http.body_rate import GRACE_SECONDS
from lakehouse.http.connections import HEAD_SECONDS
from millrace.local.process.ports import stable_port

SILENT = 40  # more than as many bodies of 4 MiB as there is memory for
SLACK = 20.0  # seconds, for a busy machine
HEAD = b"POST /v1/batch HTTP/1.1\r\nHost: shop\r\nContent-Length: 4000000\r\n\r\n"
EVENT = json.dumps({"type": "track", "event": "A", "userId": "u", "messageId": "1", "writeKey": "key"})


@contextmanager
def opened(port: int, *sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections on which these bytes have been sent."""
    with ExitStack() as stack:
        found = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), HEAD_SECONDS + SLACK))
            for _ in sent
        ]
        for connection, part in zip(found, sent, strict=True):
            connection.sendall(part)
        yield found


def ending(connection: socket.socket) -> bytes:
    """What a connection receives until the server closes it."""
    found = b""
    try:
        while part := connection.recv(4096):
            found += part
    except ConnectionResetError:
        pass
    return found


def endings(connections: list[socket.socket]) -> list[bytes]:
    with ThreadPoolExecutor(len(connections)) as threads:
        return list(threads.map(ending, connections))


def status_of(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("POST", "/v1/track", EVENT)
        return connection.getresponse().status
    finally:
        connection.close()


def test_silent_and_slow_bodies_hold_no_memory_and_end_with_408(new_home: Callable[..., Home]) -> None:
    port = stable_port()
    with (
        collector(with_sources(new_home(), ONE_SOURCE), port),
        opened(port, *[HEAD, HEAD + b"{"] * (SILENT // 2)) as connections,
    ):
        assert status_of(port) == 200
        since = time.monotonic()
        answers = endings(connections)
        assert {answer.partition(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}
        assert time.monotonic() - since < GRACE_SECONDS + SLACK


@contextmanager
def served(name: str, home: Home) -> Iterator[int]:
    """Run the collector or the streaming API. Yields its port."""
    if name == "api":
        with api_process(home.path) as server:
            yield server.port
    else:
        port = stable_port()
        with collector(with_sources(home, ONE_SOURCE), port):
            yield port


@pytest.mark.parametrize("name", ["collector", "api"])
def test_connection_without_a_whole_head_is_closed(new_home: Callable[..., Home], name: str) -> None:
    answered = b"GET /health HTTP/1.1\r\nHost: shop\r\n\r\nGET /hea"  # the head of a second request is cut
    with served(name, new_home()) as port, opened(port, b"", HEAD[:30], answered) as connections:
        since = time.monotonic()
        first, second, third = endings(connections)
        assert (first, second, third[:15]) == (b"", b"", b"HTTP/1.1 200 OK")
        assert time.monotonic() - since < HEAD_SECONDS + SLACK
