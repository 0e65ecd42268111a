"""The server reads little of a body that it has already answered."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from unittest.mock import create_autospec

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from kit.polling import eventually
from lakehouse.http.connections import MOST_AFTER_ANSWER, REST_SECONDS, LimitedProtocol
from millrace.local.process.ports import stable_port

PART = b"x" * (64 << 10)
BUFFERS = 8 << 20
"""More than the buffers of a connection on this machine hold."""


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without reading the body."""
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = stable_port()
    config = uvicorn.Config(refuse, port=port, http=LimitedProtocol, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    eventually(lambda: server.started)
    yield port
    server.should_exit = True
    thread.join()


def begin(port: int, length: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), 20)
    connection.sendall(f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n".encode())
    return connection


def sent_before_the_end(connection: socket.socket) -> int:
    """Bytes sent before the server has ended the connection."""
    sent = 0
    with suppress(OSError):
        while sent < MOST_AFTER_ANSWER + BUFFERS:
            sent += connection.send(PART)
    return sent


def test_connection_ends_if_a_body_goes_on_long_after_its_answer(port: int) -> None:
    with begin(port, 1 << 30) as connection:
        assert connection.recv(12) == b"HTTP/1.1 400"
        assert MOST_AFTER_ANSWER // 2 < sent_before_the_end(connection) < MOST_AFTER_ANSWER + BUFFERS


def test_client_may_send_a_whole_refused_body_before_it_reads_the_answer(port: int) -> None:
    with begin(port, MOST_AFTER_ANSWER) as connection:
        for _ in range(2):  # the connection goes on
            connection.sendall(b"x" * MOST_AFTER_ANSWER)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += connection.recv(1 << 10)
            assert answer.startswith(b"HTTP/1.1 400")
            connection.sendall(
                f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {MOST_AFTER_ANSWER}\r\n\r\n".encode()
            )


def test_body_after_a_head_in_the_last_bytes_of_a_refused_body_counts_anew() -> None:
    async def send() -> None:
        transport = create_autospec(asyncio.Transport, instance=True)
        transport.is_closing.return_value = False
        protocol = LimitedProtocol(uvicorn.Config(refuse, lifespan="off"), ServerState(), {})
        protocol.connection_made(transport)
        head = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {MOST_AFTER_ANSWER}\r\n\r\n".encode()
        protocol.data_received(head)
        for _ in range(3):
            await asyncio.gather(*protocol.tasks)  # the answer is there before the body
            protocol.data_received(b"x" * (MOST_AFTER_ANSWER - len(PART)))
            protocol.data_received(PART + head)
        await asyncio.gather(*protocol.tasks)
        protocol.connection_lost(None)
        transport.abort.assert_not_called()

    asyncio.run(send())


def test_rest_of_a_refused_body_is_read_in_intervals() -> None:
    async def send() -> list[str]:
        transport, calls = create_autospec(asyncio.Transport, instance=True), []
        transport.is_closing.return_value = False
        protocol = LimitedProtocol(uvicorn.Config(refuse, lifespan="off"), ServerState(), {})
        protocol.connection_made(transport)
        protocol.data_received(f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {1 << 20}\r\n\r\n".encode())
        await asyncio.gather(*protocol.tasks)
        for _ in range(3):
            transport.reset_mock()
            protocol.data_received(PART)
            calls += [each[0] for each in transport.method_calls if each[0].endswith("_reading")]
            transport.reset_mock()
            read_on = asyncio.get_running_loop().create_future()
            transport.resume_reading.side_effect = lambda: read_on.done() or read_on.set_result(None)  # noqa: B023
            await asyncio.wait_for(read_on, 200 * REST_SECONDS)
        protocol.connection_lost(None)
        return calls

    assert asyncio.run(send()) == ["pause_reading"] * 3


def test_full_buffer_of_the_next_request_stays_paused() -> None:
    async def send() -> None:
        transport = create_autospec(asyncio.Transport, instance=True)
        transport.is_closing.return_value = False
        protocol = LimitedProtocol(uvicorn.Config(refuse, lifespan="off"), ServerState(), {})
        protocol.connection_made(transport)
        head = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len(PART)}\r\n\r\n".encode()
        protocol.data_received(head)
        await asyncio.gather(*protocol.tasks)
        protocol.data_received(PART)
        protocol.flow.pause_reading()
        transport.reset_mock()
        protocol._read_on()
        transport.resume_reading.assert_not_called()
        protocol.connection_lost(None)

    asyncio.run(send())
