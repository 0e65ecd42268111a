"""How many events a second does the collector take, and how long does a request wait for the disk?

Batches of 100 events over 16 connections, then single events at a steady rate. Beside it the same application
with events acknowledged by Kafka, and with a log that keeps nothing, as the bound of HTTP and parsing. The
load generator has the same cores.
"""

import argparse
import asyncio
import json
import tempfile
import time
import urllib.request
from concurrent.futures import Future
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.server_process import server_process
from intake.log.entries import Write
from intake.log.message_log import Budget, MessageLog
from millrace.local.kafka.broker import running_broker
from millrace.local.process.ports import stable_port

LOG, KAFKA, NO_LOG = "log, fsync", "Kafka acks alone", "no log"
_CONNECTIONS, _BATCH = 16, 100
_SERVE = ("-m", "benchmarks.collect", "--serve")
_EVENT = {
    "type": "track",
    "event": "Product Viewed",
    "anonymousId": "0b9f8c5e-3a41-4a53-9f0e-6a7f0f3a1c11",
    "timestamp": "2026-11-02T10:00:00.000Z",
    "context": {"page": {"url": "https://shop.example/p/1?utm_source=n"}, "userAgent": "Mozilla/5.0 (X11)"},
    "properties": {"product_id": "1", "price": 12.5, "currency": "EUR"},
}


class NoLog(MessageLog):
    """A log that discards messages."""

    def append(self, write: Write) -> "Future[None]":
        """A completed future."""
        done: Future[None] = Future()
        done.set_result(None)
        return done


def main() -> None:
    """Run all measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rate", type=float, default=1000, help="single requests a second")
    parser.add_argument("--serve", help="internal: run a collector with this log")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bootstrap", default="")
    arguments = parser.parse_args()
    if arguments.serve:
        _serve(arguments.serve, arguments.port, arguments.bootstrap)
        return
    heads = ("events/s in batches of 100", "s until all is in Kafka", f"p50, ms at {arguments.rate:,.0f}/s")
    table = Table("collector", *heads, "p99, ms")
    with tempfile.TemporaryDirectory() as folder, running_broker(Path(folder), stable_port()) as bootstrap:
        for name in (LOG, KAFKA, NO_LOG):
            port, log = stable_port(), Path(folder) / "collect.log"
            with server_process(port, log, *_SERVE, name, "--port", str(port), "--bootstrap", bootstrap):
                events = asyncio.run(_batches(port, arguments.seconds))
                drained = _seconds_until_forwarded(port)
                waits = asyncio.run(_singles(port, arguments.seconds, arguments.rate))
            p50, p99 = np.percentile(waits, (50, 99)) * 1000
            table.add_row(name, f"{events:,.0f}", f"{drained:.1f}", f"{p50:.1f}", f"{p99:.1f}")
    Console().print(table)


def _serve(name: str, port: int, bootstrap: str) -> None:
    import uvicorn

    from intake.admission import Admission
    from intake.app import Collector
    from intake.delivery import Delivery
    from intake.direct_sender import DirectSender
    from intake.forwarder import Forwarder
    from intake.producers import direct_producer, durable_producer, once_producer
    from intake.sources import LOCAL, Acknowledge, Sources
    from millrace.clients.topic import ensure_topic

    folder = Path(tempfile.mkdtemp())
    log = (NoLog if name == NO_LOG else MessageLog)(folder / "messages.db", Budget(256 << 20, 8 << 30))
    ensure_topic(bootstrap, "events")
    forwarder = Forwarder(log, "events", "main", lambda: durable_producer(bootstrap, {}))
    forwarder.start()
    makers = (partial(make, bootstrap, {}) for make in (direct_producer, once_producer))
    delivery = Delivery(log, DirectSender(log, "events", "main", *makers), Admission())
    source = LOCAL.model_copy(update={"acknowledge": Acknowledge.KAFKA if name == KAFKA else Acknowledge.LOG})
    sources = Sources([source.model_copy(update={"key_sha256": (sha256(b"").hexdigest(),)})])
    app = Collector(log, forwarder, delivery, lambda: sources).app()
    uvicorn.run(app, port=port, log_level="warning", access_log=False)


def _seconds_until_forwarded(port: int) -> float:
    began = time.monotonic()
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
            if not json.load(answer)["waiting"]:
                return time.monotonic() - began
        time.sleep(0.2)


def _request(path: str, body: bytes) -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body)


async def _answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    status = head.split(b" ", 2)[1]
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    if status != b"200":
        raise RuntimeError(f"status {status.decode()}")


async def _batches(port: int, seconds: float) -> float:
    """Events per second."""
    until, count = time.monotonic() + seconds, 0

    async def client(number: int) -> None:
        nonlocal count
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sent = 0
        while time.monotonic() < until:
            sent += 1
            batch = [{**_EVENT, "messageId": f"{number}-{sent}-{place}"} for place in range(_BATCH)]
            writer.write(_request("/v1/batch", json.dumps({"batch": batch}).encode()))
            await _answer(reader)
            count += _BATCH
        writer.close()

    await asyncio.gather(*(client(number) for number in range(_CONNECTIONS)))
    return count / seconds


async def _singles(port: int, seconds: float, rate: float) -> list[float]:
    """Seconds from the scheduled time of each request until its response."""
    waits: list[float] = []
    each = _CONNECTIONS * 4 / rate
    began = time.monotonic() + 0.1

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        due = began + each * number / (_CONNECTIONS * 4)
        while due < began + seconds:
            await asyncio.sleep(max(due - time.monotonic(), 0))
            body = json.dumps({**_EVENT, "messageId": f"s{number}-{due}"}).encode()
            writer.write(_request("/v1/track", body))
            await _answer(reader)
            waits.append(time.monotonic() - due)
            due += each
        writer.close()

    await asyncio.gather(*(client(number) for number in range(_CONNECTIONS * 4)))
    return waits


if __name__ == "__main__":
    main()
