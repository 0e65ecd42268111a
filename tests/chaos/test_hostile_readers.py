"""A minute of hostile readers of the streaming API, beside one that behaves.

The hostile readers stand for machines elsewhere: they run in a process of lowest priority, so that what is
measured is what the server does with their requests, and not what it costs to send them.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from kit.access import token_of, with_tokens
from kit.api_process import ApiProcess, api_process
from kit.home import ROOT
from kit.live_table import LiveTable
from kit.polling import eventually
from kit.subscribers import Fold
from kit.warehouse_builder import append_rows

pytestmark = pytest.mark.long

ALONE, HOSTILE = 30.0, 60.0  # seconds
PAUSE, COMMIT_PAUSE = 0.02, 0.25
MEMORY = 300 << 20
HOSTILE_READERS = ("one", "two")
ROWS = "/v1/rows?table=gold.funnel"
QUERY = "/v1/rows?sql=" + quote("SELECT step, sum(visitors) AS visitors FROM gold.funnel GROUP BY step")


def memory_of(server: psutil.Process) -> int:
    """Bytes of a server's processes in memory; shared ones count once."""
    return sum(map(_share_of, (server, *server.children(recursive=True))))


def _share_of(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0  # it has ended


class Reader:
    """A client that behaves: it reads rows, asks a query, and follows a table.

    Args:
        server: the server.
        table: the followed table.
    """

    def __init__(self, server: ApiProcess, table: LiveTable) -> None:
        self.times: dict[str, list[float]] = {"rows": [], "query": [], "change": []}
        self.fold = Fold("gold.touches")
        self._server = server
        self._table = table
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._follow, self._commit)]

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the table, which changes all the time, during the block."""
        for thread in self._threads:
            thread.start()
        yield
        self._stop.set()
        self._threads[1].join()
        eventually(lambda: self.fold.version >= self._table.version, what="the last change arrives")

    def measure(self, seconds: float) -> dict[str, float]:
        """The p99 of times in seconds, by kind of request, all of which must succeed."""
        self.fold.delays = []
        times: dict[str, list[float]] = {"rows": [], "query": []}
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name, path in (("rows", ROWS), ("query", QUERY)):
                since = time.monotonic()
                with self._get(path) as answer:
                    assert answer.status == 200, answer.read()
                    assert len(answer.read().splitlines()) == 300
                times[name].append(time.monotonic() - since)
                time.sleep(PAUSE)
        times["change"] = list(self.fold.delays)
        return {name: sorted(found)[int(len(found) * 0.99)] for name, found in times.items()}

    @contextmanager
    def _get(self, path: str) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token_of('good')}"})
            yield connection.getresponse()
        finally:
            connection.close()

    def _follow(self) -> None:
        with self._get("/v1/changes?table=gold.touches") as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    self.fold.take(json.loads(line[6:]))

    def _commit(self) -> None:
        while not self._stop.wait(COMMIT_PAUSE):
            self._table.commit()


@contextmanager
def attacked(port: int) -> Iterator[None]:
    """Hostile requests, until the block ends."""
    tokens = [token_of(name) for name in HOSTILE_READERS]
    attacking = subprocess.Popen(
        [sys.executable, "-m", "kit.api_attacks", str(port), *tokens],
        cwd=ROOT / "tests",
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'src'}"},
    )
    try:
        yield
        assert attacking.poll() is None
    finally:
        attacking.kill()
        attacking.wait()


@contextmanager
def watched(server: psutil.Process) -> Iterator[list[int]]:
    """The memory of a server before the block and at most during it."""
    found, stop = [memory_of(server)] * 2, threading.Event()

    def watch() -> None:
        while not stop.wait(0.25):
            found[1] = max(found[1], memory_of(server))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield found
    finally:
        stop.set()
        watching.join()


def test_reader_is_served_during_a_minute_of_hostile_readers(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with_tokens(tmp_path, "roles: {}\n", good="admin", **dict.fromkeys(HOSTILE_READERS, "admin"))
    append_rows(tmp_path, "gold.funnel", [{"step": f"s{number}"} for number in range(300)])
    table = LiveTable(tmp_path, rows=300)
    with api_process(tmp_path, place=tmp_path) as server:
        assert server.process is not None
        process, reader = psutil.Process(server.process.pid), Reader(server, table)
        with reader.following():
            reader.measure(3)
            with watched(process) as memory:  # in both phases, since it takes time of the client
                alone = reader.measure(ALONE)
                with attacked(server.port):
                    beside = reader.measure(HOSTILE)
        times = ", ".join(f"{name} {1e3 * alone[name]:.0f} and {1e3 * beside[name]:.0f} ms" for name in alone)
        figures = f"p99 alone and beside: {times}; memory {memory[0] >> 20} and {memory[1] >> 20} MiB"
        record_property("figures", f"{figures}; load {os.getloadavg()}")
        reader.fold.assert_right(table.digests)
        assert memory[1] - memory[0] < MEMORY, figures
        assert all(beside[name] < 2 * alone[name] for name in alone), figures
