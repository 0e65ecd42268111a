"""Kills and pauses consumers and servers amid commits, and compares effects with the change feed."""

import datetime as dt
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kit import summing_consumer
from kit.home import ROOT
from kit.polling import eventually
from kit.stream_node import StreamNode
from kit.user_database import UserDatabase
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.contracts import TABLES
from lakehouse.delta.changes import read_changes, read_snapshot
from lakehouse.delta.log_files import latest_version
from millrace.client import PostgresStore

TABLE = "gold.funnel"
LEASE = 0.5
_CATCH_UP_SECONDS = 60
_STEPS = ("visit", "view", "order")


@dataclass
class ConsumerProcess:
    """`summing_consumer` as a process."""

    database: UserDatabase
    urls: str
    log: Path
    resume_at: float = field(default=0.0, init=False)
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def start(self) -> None:
        """Start it."""
        kind = "postgres" if isinstance(self.database.store, PostgresStore) else "sqlite"
        arguments = (kind, self.database.place, self.urls, str(LEASE))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, summing_consumer.__file__, *arguments],
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """End it at once."""
        self.resume_at = 0.0
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self, seconds: float) -> None:
        """Stop it as SIGSTOP does, until `wake` is called after so many seconds."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        self.resume_at = time.monotonic() + seconds

    def wake(self, *, now: bool = False) -> None:
        """Go on if the pause is over."""
        if self.process is not None and self.resume_at and (now or time.monotonic() > self.resume_at):
            self.resume_at = 0.0
            self.process.send_signal(signal.SIGCONT)


class Writer(threading.Thread):
    """Commits to the table until it is stopped."""

    def __init__(self, home: Path, rng: Random, pause: float) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self._home, self._rng, self._pause = home, rng, pause
        self._rows = {(day, step): 1 for day in range(4) for step in _STEPS}
        self.failure: BaseException | None = None
        append_rows(home, TABLE, self._as_rows())

    def run(self) -> None:
        """Change some rows, remove some, add some."""
        try:
            while not self.ended.wait(self._rng.uniform(0.2, 1) * self._pause):
                for key in self._rng.sample(sorted(self._rows), 3):
                    self._rows[key] += self._rng.randint(1, 1_000)
                key = (self._rng.randrange(8), self._rng.choice(_STEPS))
                if self._rows.pop(key, None) is None:
                    self._rows[key] = self._rng.randint(1, 1_000)
                replace_rows(self._home, TABLE, self._as_rows())
        except Exception as error:  # noqa: BLE001 - the test shows it
            self.failure = error

    def _as_rows(self) -> list[dict[str, Any]]:
        return [
            {"day": dt.date(2026, 11, 1) + dt.timedelta(day), "step": step, "visitors": visitors}
            for (day, step), visitors in self._rows.items()
        ]


def disturb(
    database: UserDatabase, folder: Path, kills: int, rng: Random, pause: tuple[float, float], every: float
) -> int:
    """Two consumers, two servers and a writer; something is killed or paused so many times.

    Args:
        database: of the consumers.
        folder: for the home and logs.
        kills: of consumers and servers, and pauses of consumers.
        rng: decides.
        pause: least and most seconds from one to the next.
        every: most seconds from commit to commit.

    Returns:
        How many times another process than before applied a group.
    """
    for statement in summing_consumer.CREATE:
        database.run(statement)
    home = folder / "home"
    home.mkdir()
    writer = Writer(home, rng, every)
    with ExitStack() as running:
        nodes = [StreamNode(home) for _ in range(2)]
        for node in nodes:
            running.callback(node.kill)
            node.start()
        urls = ",".join(node.url for node in nodes)
        consumers = [
            ConsumerProcess(database, urls, folder / f"consumer-{number}.log") for number in range(2)
        ]
        for consumer in consumers:
            running.callback(consumer.kill)
            consumer.start()
        running.callback(writer.ended.set)
        eventually(lambda: database.run("SELECT 1 FROM applied"), _CATCH_UP_SECONDS, "a consumer leads")
        writer.start()
        for _ in range(kills):
            writer.join(rng.uniform(*pause))
            _disturb_once(consumers, nodes, rng)
        writer.ended.set()
        writer.join()
        assert writer.failure is None
        for consumer in consumers:
            consumer.wake(now=True)
        latest = latest_version(_folder(home))
        eventually(lambda: _version(database) == latest, _CATCH_UP_SECONDS, f"version {latest} is applied")
    assert_each_effect_once(database, home)
    pids = [pid for (pid,) in database.run(f"SELECT pid FROM applied ORDER BY {_order(database)}")]
    return sum(one != two for one, two in itertools.pairwise(pids))


def assert_each_effect_once(database: UserDatabase, home: Path) -> None:
    """Effects since the last reset are the changes of the feed, and sums those of the table."""
    folder, table = _folder(home), TABLES[TABLE]
    latest = latest_version(folder)
    resets = database.run("SELECT max(version) FROM applied WHERE is_reset = 1")
    begin = resets[0][0]
    expected = Counter(
        (begin, str(row["day"]), row["step"], None, row["visitors"])
        for row in read_snapshot(folder, table, begin).rows.to_pylist()
    )
    for change in read_changes(folder, table, begin, latest).to_pylist():
        row = change["after"] or change["before"]
        old, new = (each and each["visitors"] for each in (change["before"], change["after"]))
        expected[change["commit_version"], str(row["day"]), row["step"], old, new] += 1
    assert Counter(database.run("SELECT * FROM effects")) == expected
    sums: Counter[str] = Counter()
    for row in read_snapshot(folder, table).rows.to_pylist():
        sums[row["step"]] += row["visitors"]
    assert {step: visitors for step, visitors in database.run("SELECT * FROM sums") if visitors} == sums


def _disturb_once(consumers: list[ConsumerProcess], nodes: list[StreamNode], rng: Random) -> None:
    for each in consumers:
        each.wake()
    consumer, node = rng.choice(consumers), rng.choice(nodes)
    action = rng.choices(("kill", "pause", "server"), (5, 4, 2))[0]
    if action == "kill":
        consumer.kill()
        consumer.start()
    elif action == "pause" and not consumer.resume_at:
        consumer.pause(rng.uniform(0.5, 3) * LEASE)
    else:
        node.kill()
        node.start()


def _version(database: UserDatabase) -> int:
    return int(database.run("SELECT max(version) FROM applied")[0][0])


def _order(database: UserDatabase) -> str:
    return "ctid" if isinstance(database.store, PostgresStore) else "rowid"


def _folder(home: Path) -> Path:
    return home.joinpath("warehouse", *TABLE.split("."))
