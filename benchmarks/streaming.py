"""How long from a commit to a subscriber, with 1,000 of them on one process, and how much memory is that?

A table of 10,000 touches, of which 20 change twice a second. Subscribers follow it by server-sent events, by
WebSocket or by long poll. They have the same cores as the server and the writer.
"""

import argparse
import asyncio
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from deltalake import DeltaTable, write_deltalake
from websockets.asyncio.client import connect

from benchmarks.bench import print_table
from benchmarks.server_process import server_process
from benchmarks.touch_rows import touches
from millrace.local.process.ports import stable_port

_COMMITTED = re.compile(rb'"committed_at":"([^"]+)"')
_NEIGHBOURS, _TURNS = 20, 3
_BYTES_OF_A_ROW = 1_200
"""Approximate bytes of a changed row with all columns in a message."""
_SELECT = "select=kind"

Client = Callable[[int, list[float]], Coroutine[Any, Any, None]]


def main() -> int:
    """Run, and print delays and memory."""
    parser = argparse.ArgumentParser(prog="make bench-streaming", description=__doc__)
    parser.add_argument("--subscribers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--history", type=int, default=10_000, help="rows in the table")
    parser.add_argument("--rows", type=int, default=20, help="of a commit")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between two commits")
    options = parser.parse_args()
    table = []
    for name, client in (
        ("server-sent events", follow_events),
        ("WebSocket", _socket),
        ("long poll", _polls),
    ):
        for count in (1, options.subscribers):
            delays, memory, commits = _measure(options, client, count)
            p50, p99 = np.percentile(delays, (50, 99)) * 1000
            table.append([name, f"{count:,}", f"{commits:.1f}", f"{p50:.0f}", f"{p99:.0f}", f"{memory:.0f}"])
    heads = ["", "subscribers", "commits/s", "commit to client p50 ms", "p99 ms", "MB"]
    print_table(f"Commits of {options.rows} rows in {options.history:,}", heads, table)
    print_table(
        f"{_NEIGHBOURS} subscribers of server-sent events, and one that reads a fiftieth of what comes",
        ["", "p50 ms", "p99 ms"],
        _beside_a_slow_one(options),
    )
    return 0


def _beside_a_slow_one(options: argparse.Namespace) -> list[list[str]]:
    """Delays of other subscribers, alternately with and without a slow one."""
    alone, beside = "alone", "beside the slow one"
    found: dict[str, list[float]] = {alone: [], beside: []}
    for _ in range(_TURNS):
        for name, slow in ((alone, 0), (beside, 1)):
            found[name] += _measure(options, partial(follow_events, select=""), _NEIGHBOURS, slow)[0]
    rows = []
    for name, delays in found.items():
        p50, p99 = np.percentile(delays, (50, 99)) * 1000
        rows.append([name, f"{p50:.0f}", f"{p99:.0f}"])
    return rows


def _measure(
    options: argparse.Namespace, client: Client, count: int, slow: int = 0
) -> tuple[list[float], float, float]:
    """Delays in seconds, megabytes of the server, commits per second."""
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        home = Path(folder)
        table = home / "warehouse" / "gold" / "touches"
        write_deltalake(table, touches(0, options.history))
        stop = threading.Event()
        port = stable_port()
        with server_process(port, home / "serve.log", "-c", _SERVE, str(home), str(port)) as process:
            writer = threading.Thread(target=_write, args=(table, options, stop))
            writer.start()
            try:
                delays = asyncio.run(_follow(port, client, count, slow, options))
            finally:
                stop.set()
                writer.join()
            memory = psutil.Process(process.pid).memory_info().rss / 1e6
        commits = DeltaTable(table).version()
    return delays, memory, commits / options.seconds


def _write(table: Path, options: argparse.Namespace, stop: threading.Event) -> None:
    first, number = options.history - options.rows, 0
    while not stop.wait(options.pause):
        number += 1
        changed = touches(first, options.rows, f"visit {number}")
        merging = DeltaTable(table).merge(changed, "t.touch_id = s.touch_id", "s", "t")
        merging.when_matched_update_all().execute()


async def _follow(
    port: int, client: Client, count: int, slow: int, options: argparse.Namespace
) -> list[float]:
    found: list[float] = []
    pace = _BYTES_OF_A_ROW * options.rows / options.pause / 50
    slow_ones = [asyncio.ensure_future(_read_slowly(port, pace)) for _ in range(slow)]
    tasks = []
    for _ in range(count):
        tasks.append(asyncio.ensure_future(client(port, found)))
        await asyncio.sleep(0.005)
    await asyncio.sleep(5)  # all subscribers have their snapshot
    found.clear()
    await asyncio.sleep(options.seconds)
    failed = [task for task in tasks if task.done()]
    for task in (*tasks, *slow_ones):
        task.cancel()
    await asyncio.gather(*tasks, *slow_ones, return_exceptions=True)
    if failed:
        raise RuntimeError(f"{len(failed)} subscribers were disconnected")
    return found


async def follow_events(port: int, delays: list[float], select: str = _SELECT) -> None:
    """Follow gold.touches by server-sent events until cancelled; append the seconds since each commit."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 << 20)
    writer.write(
        b"GET /v1/changes?table=gold.touches&%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % select.encode()
    )
    while True:
        _note(await reader.readuntil(b"\n\n"), delays)


async def _read_slowly(port: int, pace: float) -> None:
    """Read a number of bytes per second; reconnect when the server disconnects."""
    while True:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(_get(b"/v1/changes?table=gold.touches"))
        connection.setblocking(False)
        with connection:
            while await asyncio.get_running_loop().sock_recv(connection, 512):
                await asyncio.sleep(512 / pace)


async def _socket(port: int, delays: list[float]) -> None:
    address = f"ws://127.0.0.1:{port}/v1/socket"
    async with connect(address, compression=None, max_size=None) as connection:
        await connection.send('{"table": "gold.touches", "select": ["kind"]}')
        async for text in connection:
            _note(text.encode() if isinstance(text, str) else text, delays)


async def _polls(port: int, delays: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 << 20)
    after = b""
    while True:
        path = b"/v1/poll?table=gold.touches&%s%s" % (_SELECT.encode(), after)
        writer.write(_get(path))
        await reader.readuntil(b"\r\n\r\n")
        body = b""
        while size := int((await reader.readline()).strip(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        _note(body, delays)
        after = b"&after=" + body.rpartition(b'"position":"')[2].partition(b'"')[0]


def _get(path: bytes) -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % path


def _note(message: bytes, delays: list[float]) -> None:
    if committed := _COMMITTED.search(message):
        at = datetime.fromisoformat(committed[1].decode().replace("Z", "+00:00"))
        delays.append(time.time() - at.timestamp())


_SERVE = """
import sys
from pathlib import Path
from lakehouse.readers.folder_tables import FolderTables
from serving.api.application import Site
from serving.api.server import Served, serve
from serving.stream.hub import Limits
from serving.stream.subscription import Terms
home = Path(sys.argv[1])
site = Site(home, home / "conf")
serve(Served("127.0.0.1", int(sys.argv[2]), FolderTables(home / "warehouse"), Limits(), Terms(), 30.0, site))
"""


if __name__ == "__main__":
    sys.exit(main())
