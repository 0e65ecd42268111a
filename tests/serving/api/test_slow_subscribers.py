"""A slow subscriber is warned, gets conflated changes, and is disconnected; others are unaffected."""

import asyncio
import json
import math
import socket
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from kit.api_process import ApiProcess, api_process
from kit.live_table import NAME, LiveTable
from kit.polling import eventually
from kit.subscribers import EventSubscriber, Fold, all_have

_RECEIVE_BUFFER = 4096
_BYTES_PER_COMMIT = 4096  # a commit has ten times as many
_SECONDS = 120.0


class SlowReader:
    """Reads server-sent events up to an allowed number of bytes.

    Args:
        port: of the server.

    Attributes:
        allowed: total bytes that it may read so far.
    """

    def __init__(self, port: int) -> None:
        self.fold = Fold(NAME)
        self.ended = False
        self.allowed = float(_RECEIVE_BUFFER)
        self._connection = socket.socket()
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self._connection.connect(("127.0.0.1", port))
        self._connection.sendall(f"GET /v1/changes?table={NAME} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
        self._data = b""
        assert self._connection.recv(15) == b"HTTP/1.1 200 OK"

    def read(self, stop: threading.Event) -> None:
        """Read until the server ends the connection."""
        count = 0
        while not stop.is_set():
            if count >= self.allowed:
                stop.wait(0.01)
                continue
            try:
                part = self._connection.recv(_RECEIVE_BUFFER)
            except ConnectionResetError:
                part = b""
            if not part:
                self.ended = True
                return
            count += len(part)
            self._take(part)

    def _take(self, part: bytes) -> None:
        self._data += part
        *events, self._data = self._data.split(b"\n\n")
        for event in events:
            _, found, data = event.partition(b"data: ")
            if found:
                self.fold.take(json.loads(data))


def version_steps(fold: Fold) -> list[int]:
    """Version differences of consecutive positions."""
    versions = [version for version, _ in fold.digests]
    return [after - before for before, after in pairwise(versions)]


def commit_until(
    table: LiveTable, slow: SlowReader, other: Fold, is_done: Callable[[], bool], **changes: int
) -> None:
    """Commit as fast as the other subscriber gets changes. The slow one reads a fraction of each commit."""
    until = time.monotonic() + _SECONDS
    while not is_done():
        assert time.monotonic() < until, "the subscriber is not slow"
        version = table.commit(**changes)
        slow.allowed += _BYTES_PER_COMMIT
        eventually(lambda: other.version >= version - 2, _SECONDS, "the other has it")  # noqa: B023


async def follow(table: LiveTable, server: ApiProcess, slow: SlowReader, other: EventSubscriber) -> None:
    """Update the same rows until changes are conflated, then add rows until the reader is disconnected."""
    task = asyncio.ensure_future(other.run())
    same, new = {"inserts": 0, "updates": 100, "deletes": 0}, {"inserts": 800, "updates": 0, "deletes": 0}
    await asyncio.to_thread(
        commit_until,
        table,
        slow,
        other.fold,
        lambda: slow.ended or max(version_steps(slow.fold), default=0) > 1,
        **same,
    )
    assert not slow.ended, f"no changes were conflated: {slow.fold.kinds}, {server.log}"
    await asyncio.to_thread(
        commit_until, table, slow, other.fold, lambda: slow.ended or "disconnected" in server.log, **new
    )
    slow.allowed = math.inf
    await all_have([other], [task], table.version)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.long
def test_slow_subscriber_is_warned_gets_conflated_changes_and_is_disconnected(tmp_path: Path) -> None:
    table, stop = LiveTable(tmp_path, rows=150), threading.Event()
    with api_process(tmp_path, "--budget", "0.1", "--send-timeout", "10") as server:
        slow = SlowReader(server.port)
        other = EventSubscriber([server.url], NAME, budget=16 << 20)
        thread = threading.Thread(target=slow.read, args=(stop,))
        thread.start()
        try:
            asyncio.run(follow(table, server, slow, other))
            eventually(lambda: slow.ended, what="the connection ends")
        finally:
            stop.set()
            thread.join()
        lines = [line for line in server.log.splitlines() if "Slow subscriber" in line]
    assert f"of {NAME}" in lines[0]
    assert "bytes wait" in lines[0]
    assert "disconnected" in lines[-1]
    assert slow.fold.kinds["warning"] >= 1
    slow.fold.assert_right(table.digests)
    other.fold.assert_right(table.digests)
    assert {"warning", "closed"}.isdisjoint(other.fold.kinds)
