"""Kills and pauses consumers and servers during commits, and compares effects with the change feed."""

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from kit import summing_consumer
from kit.api_process import ApiProcess
from kit.catalog_server import CatalogServer
from kit.change_folding import snapshot_of
from kit.home import ROOT
from kit.polling import eventually
from kit.user_database import UserDatabase
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.contracts import TABLES
from lakehouse.delta.changes import read_changes
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
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    pause: "threading.Timer | None" = field(default=None, init=False)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process is not None
        return self.process.pid

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
        """Kill it with SIGKILL."""
        if self.pause is not None:
            self.pause.cancel()
            self.pause = None
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause_for(self, seconds: float) -> None:
        """Pause it with SIGSTOP for some seconds."""
        if self.pause is None or not self.pause.is_alive():
            assert self.process is not None
            self.process.send_signal(signal.SIGSTOP)
            self.pause = threading.Timer(seconds, self.process.send_signal, (signal.SIGCONT,))
            self.pause.start()


class Writer(threading.Thread):
    """A thread that commits to the table until it is stopped."""

    def __init__(self, home: Path, rng: Random, pause: float) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self._home, self._rng, self._pause = home, rng, pause
        self._rows = {(day, step): 1 for day in range(4) for step in _STEPS}
        self.failure: BaseException | None = None
        append_rows(home, TABLE, self._as_rows())

    def run(self) -> None:
        """Commit updates, deletes and inserts."""
        try:
            while not self.ended.wait(self._rng.uniform(0.2, 1) * self._pause):
                for key in self._rng.sample(sorted(self._rows), 3):
                    self._rows[key] += self._rng.randint(1, 1_000)
                key = (self._rng.randrange(8), self._rng.choice(_STEPS))
                if self._rows.pop(key, None) is None:
                    self._rows[key] = self._rng.randint(1, 1_000)
                replace_rows(self._home, TABLE, self._as_rows())
        except Exception as error:  # noqa: BLE001 - the test reports it
            self.failure = error

    def _as_rows(self) -> list[dict[str, Any]]:
        return [
            {"day": dt.date(2026, 11, 1) + dt.timedelta(day), "step": step, "visitors": visitors}
            for (day, step), visitors in self._rows.items()
        ]


@dataclass
class Pair:
    """Two consumers of a database; one of them holds the lease."""

    database: UserDatabase
    consumers: list[ConsumerProcess]

    @property
    def groups(self) -> int:
        """Number of applied groups."""
        return int(self.database.run("SELECT count(*) FROM applied")[0][0])

    @property
    def version(self) -> int:
        """The latest applied version."""
        return int(self.database.run("SELECT max(version) FROM applied")[0][0])

    @property
    def fail_overs(self) -> int:
        """Number of times that a different process than before applied a group."""
        order = "ctid" if isinstance(self.database.store, PostgresStore) else "rowid"
        pids = [pid for (pid,) in self.database.run(f"SELECT pid FROM applied ORDER BY {order}")]
        return sum(one != two for one, two in pairwise(pids))

    def disturb(self, rng: Random) -> None:
        """Kill and restart a consumer, or pause it; usually the last leader."""
        (leader,) = self.database.run(
            "SELECT pid FROM applied WHERE version = (SELECT max(version) FROM applied)"
        )[0]
        leading = [each for each in self.consumers if each.pid == leader]
        chosen = leading[0] if leading and rng.random() < 0.7 else rng.choice(self.consumers)
        if rng.random() < 0.5:
            chosen.kill()
            chosen.start()
        else:
            chosen.pause_for(rng.uniform(0.5, 4) * LEASE)


def disturb(
    databases: Sequence[UserDatabase],
    folder: Path,
    kills: int,
    rng: Random,
    every: float,
    catalog: CatalogServer | None = None,
) -> list[int]:
    """Run two consumers per database, two servers and a writer; kill consumers and servers, pause consumers.

    Args:
        databases: the databases of the consumers.
        folder: for the home and logs.
        kills: how often a consumer of each database is killed or paused; every tenth time, a server too.
        rng: the source of randomness.
        every: maximal seconds between commits.
        catalog: has the table, for the servers; None: they read its folder.

    Returns:
        For each database, how often a different process than before applied a group.
    """
    for database in databases:
        for statement in summing_consumer.CREATE:
            database.run(statement)
    home = folder / "home"
    home.mkdir()
    writer = Writer(home, rng, every)
    if catalog:
        catalog.register(home)
    with ExitStack() as running:
        nodes = [ApiProcess(home, env=catalog.env if catalog else {}) for _ in range(2)]
        for node in nodes:
            running.callback(node.kill)
            node.launch()
        pairs = [_start_pair(database, nodes, folder, running) for database in databases]
        running.callback(writer.ended.set)
        for pair in pairs:
            eventually(lambda pair=pair: pair.groups, _CATCH_UP_SECONDS, "a consumer leads")
        writer.start()
        for number in range(kills):
            _disturb_once(pairs, nodes, writer, number, rng)
        writer.ended.set()
        writer.join()
        assert writer.failure is None
        latest = latest_version(_folder(home))
        for pair in pairs:
            eventually(
                lambda pair=pair: pair.version == latest, _CATCH_UP_SECONDS, f"version {latest} is applied"
            )
    for pair in pairs:
        assert_each_effect_once(pair.database, home)
    return [pair.fail_overs for pair in pairs]


def _start_pair(
    database: UserDatabase, nodes: Sequence[ApiProcess], folder: Path, running: ExitStack
) -> Pair:
    urls = ",".join(node.url for node in nodes)
    kind = type(database.store).__name__
    consumers = [ConsumerProcess(database, urls, folder / f"{kind}-{number}.log") for number in range(2)]
    for consumer in consumers:
        running.callback(consumer.kill)
        consumer.start()
    return Pair(database, consumers)


def _disturb_once(
    pairs: Sequence[Pair], nodes: Sequence[ApiProcess], writer: Writer, number: int, rng: Random
) -> None:
    """Disturb each pair: in half of the cases after each database has applied another group, else at once."""
    before = [pair.groups for pair in pairs]
    writer.join(rng.uniform(0, 0.4))
    if rng.random() < 0.5:
        eventually(
            lambda: all(pair.groups > had for pair, had in zip(pairs, before, strict=True)),
            _CATCH_UP_SECONDS,
            "a consumer goes on",
        )
    if number % 10 == 5:
        node = nodes[number // 10 % 2]
        node.kill()
        node.launch()
    for pair in pairs:
        pair.disturb(rng)


def assert_each_effect_once(database: UserDatabase, home: Path) -> None:
    """Assert that effects since the last reset equal the change feed, and sums equal those of the table."""
    folder, table = _folder(home), TABLES[TABLE]
    latest = latest_version(folder)
    resets = database.run("SELECT max(version) FROM applied WHERE is_reset = 1")
    begin = resets[0][0]
    expected = Counter(
        (begin, str(row["day"]), row["step"], None, row["visitors"])
        for row in snapshot_of(folder, table, begin).to_pylist()
    )
    for change in read_changes(folder, table, begin, latest).to_pylist():
        row = change["after"] or change["before"]
        old, new = (each and each["visitors"] for each in (change["before"], change["after"]))
        expected[change["commit_version"], str(row["day"]), row["step"], old, new] += 1
    assert Counter(database.run("SELECT * FROM effects")) == expected
    sums: Counter[str] = Counter()
    for row in snapshot_of(folder, table).to_pylist():
        sums[row["step"]] += row["visitors"]
    assert {step: visitors for step, visitors in database.run("SELECT * FROM sums") if visitors} == sums


def _folder(home: Path) -> Path:
    return home.joinpath("warehouse", *TABLE.split("."))
