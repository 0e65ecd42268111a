"""A minute of requests to the collector that want memory and threads, beside a client that behaves."""

import gzip
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from kit.collecting import ONE_SOURCE, collector, values_in, with_sources
from kit.home import Home
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.long

ALONE, HOSTILE = 20.0, 60.0  # seconds
PAUSE = 0.02  # seconds between two requests of the client that behaves
SILENT = 40

Ask = Callable[[int], None]


def request(port: int, method: str, path: str, body: bytes | str | None = None, **headers: str) -> int:
    """Status of a request on a connection of its own; 0 if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with suppress(OSError, http.client.HTTPException):
        connection.request(
            method, path, body, {name.replace("_", "-"): text for name, text in headers.items()}
        )
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status
    connection.close()
    return 0


def zipped(content: bytes, key: str) -> Ask:
    body = gzip.compress(content)
    return lambda port: void(
        request(port, "POST", f"/v1/batch?writeKey={key}", body, Content_Encoding="gzip")
    )


def void(_: object) -> None:
    time.sleep(0.2)


def silent(head: bytes) -> Ask:
    """Open connections that say nothing after some bytes, and keep them until the server ends them."""

    def hold(port: int) -> None:
        with ExitStack() as stack:
            for _ in range(SILENT):
                opened = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
                opened.sendall(head)
            with suppress(OSError):
                while opened.recv(4096):
                    pass

    return hold


CONTEXT = b'{"batch":[' + b'{"type":"track"},' * 5000 + b'{}],"context":{"a":"' + b"b" * 100_000 + b'"}}'
COLLECTOR: dict[str, Ask] = {
    "context for each message": zipped(CONTEXT, "key"),
    "many messages, unknown key": zipped(b'{"batch":[' + b"{}," * 1_300_000 + b"{}]}", "wrong"),
    "many messages": zipped(b'{"batch":[' + b"{}," * 1_300_000 + b"{}]}", "key"),
    "many fields": zipped(b'{"batch":[{' + b'"a":0,' * 160_000 + b'"a":0}]}', "key"),
    "silent bodies": silent(b"POST /v1/batch HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n"),
    "silent heads": silent(b"POST /v1/ba"),
}


@contextmanager
def attacked(asks: dict[str, Ask], port: int) -> Iterator[None]:
    """Send each kind of hostile request, one at a time, until the block ends."""
    stop = threading.Event()

    def attack(ask: Ask) -> None:
        while not stop.is_set():
            with suppress(OSError):
                ask(port)

    threads = [threading.Thread(target=attack, args=(ask,), daemon=True) for ask in asks.values()]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(90)


def times_of(ask: Callable[[], int], seconds: float) -> list[float]:
    """Sorted times of requests that must succeed, in seconds."""
    found, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        since = time.monotonic()
        assert ask() == 200
        found.append(time.monotonic() - since)
        time.sleep(PAUSE)
    return sorted(found)


def p99(times: list[float]) -> float:
    return times[int(len(times) * 0.99)]


def measure(
    process: psutil.Process,
    asks: dict[str, Ask],
    port: int,
    ask: Callable[[], int],
    slower: float,
    memory: int,
) -> str:
    """Compare times and memory with and without hostile requests. Returns the figures.

    Args:
        process: the server.
        asks: the hostile requests.
        port: of the server.
        ask: sends a request of the client that behaves.
        slower: how many times the p99 of that client may be.
        memory: bytes by which the server may grow.
    """
    times_of(ask, 3)
    before, alone = process.memory_info().rss, times_of(ask, ALONE)
    most = [before]
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            most[0] = max(most[0], process.memory_info().rss)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    with attacked(asks, port):
        beside = times_of(ask, HOSTILE)
    stop.set()
    watching.join()
    figures = (
        f"p99 {1000 * p99(alone):.1f} ms alone, {1000 * p99(beside):.1f} ms beside hostile requests;"
        f" memory {before >> 20} MiB, at most {most[0] >> 20} MiB"
    )
    assert most[0] - before < memory, figures
    assert p99(beside) < slower * p99(alone), figures
    return figures


def test_collector_serves_others_during_a_minute_of_hostile_requests(new_home: Callable[..., Home]) -> None:
    home, port, sent = with_sources(new_home(), ONE_SOURCE), stable_port(), []

    def ask() -> int:
        event = {"type": "track", "event": "A", "userId": "u", "messageId": f"good {len(sent)}"}
        status = request(port, "POST", "/v1/track?writeKey=key", json.dumps(event))
        sent.append(event["messageId"])
        return status

    with collector(home, port) as node:
        assert node.process is not None
        measure(psutil.Process(node.process.pid), COLLECTOR, port, ask, slower=2, memory=100 << 20)
        node.wait_until_forwarded()
    arrived = {value.get("messageId") for value in values_in(home)}
    assert set(sent) <= arrived
