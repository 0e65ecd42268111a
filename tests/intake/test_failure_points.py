"""Each injected failure has the result of docs/delivery.md under each delivery semantics."""

import http.client
import json
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from intake.log.place import log_file
from kit.collecting import Node, accounts_of, values_in, with_sources
from kit.cut_connections import Cut, cutting_proxy
from kit.home import JOBS, ROOT, Home, command
from kit.polling import eventually
from kit.programs import required
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.long

DOCS = ROOT / "docs" / "delivery.md"
SOURCES = {
    "at most once": "delivery: at_most_once",
    "at least once": "delivery: at_least_once",
    "exactly once": "delivery: exactly_once",
    "exactly once, `kafka`": "delivery: exactly_once, acknowledge: kafka",
}
REQUESTS, EVENTS = 5, 10
SHARED_MEMORY = 32768  # bytes of the file that SQLite needs beside a log: a request is larger
RIGHT, LOST, COPIES, TWICE = "right", "lost", "copies in Kafka", "twice"


@dataclass
class Sender:
    """A client of one source that repeats a request until it is acknowledged. Its events have no id."""

    source: str
    port: int
    acknowledged: set[str] = field(default_factory=set)

    def start(self, point: str) -> threading.Thread:
        thread = threading.Thread(target=self.send_all, args=(point,), daemon=True)
        thread.start()
        return thread

    def send_all(self, point: str) -> None:
        for request in range(REQUESTS):
            names = [f"{point} / {self.source} / {request}.{number}" for number in range(EVENTS)]
            while not self._post(names):
                pass
            self.acknowledged.update(names)

    def _post(self, names: list[str]) -> bool:
        batch = [{"type": "track", "event": name, "userId": "u", "traits": "x" * 4000} for name in names]
        body = json.dumps({"batch": batch, "writeKey": self.source})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("POST", "/v1/batch", body)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@dataclass
class World:
    """A collector whose four sources have the four semantics."""

    home: Home
    node: Node

    @property
    def file(self) -> Path:
        return log_file(self.home.path, self.node.name)

    def away(self) -> Node:
        """The node with an unreachable broker."""
        home = Home(self.home.path, f"127.0.0.1:{stable_port()}", self.home.topic, {}, self.home.place)
        return Node(home, self.node.port)

    @contextmanager
    def locked_log(self) -> Iterator[None]:
        """Lock the node's log against writes; reads still work."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")

    def in_kafka(self, point: str) -> Counter[str]:
        return Counter(value["event"] for value in values_in(self.home) if value["event"].startswith(point))


@pytest.fixture(scope="module")
def world(new_home: Callable[..., Home]) -> Iterator[World]:
    entries = "".join(
        f"  - {{name: s{number}, key_sha256: {sha256(name.encode()).hexdigest()}, {options}}}\n"
        for number, (name, options) in enumerate(SOURCES.items())
    )
    home = with_sources(new_home(), f"sources:\n{entries}")
    node = Node(home, stable_port())
    try:
        node.start()
        yield World(home, node)
    finally:
        node.kill()


def senders(port: int) -> list[Sender]:
    return [Sender(name, port) for name in SOURCES]


def finish(world: World, point: str, threads: list[threading.Thread]) -> None:
    """Restart the node without faults, and wait for clients and forwarder."""
    world.node.kill()
    world.node.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    world.node.wait_until_forwarded()
    kept = [name for name, result in row_of(point).items() if result != LOST]
    wanted = len(kept) * REQUESTS * EVENTS
    eventually(lambda: sum(_is_of(event, kept) for event in world.in_kafka(point)) >= wanted)


def _is_of(event: str, sources: list[str]) -> bool:
    return any(f" / {source} / " in event for source in sources)


def break_client_to_node(world: World, point: str) -> list[Sender]:
    with cutting_proxy(world.node.port) as proxy:
        proxy.cut = Cut.REQUEST
        clients = senders(proxy.address)
        threads = [client.start(point) for client in clients]
        eventually(lambda: proxy.count >= 2 * len(clients))
        proxy.cut = Cut.NOWHERE
        for thread in threads:
            thread.join(30)
    world.node.wait_until_forwarded()
    return clients


def break_the_node(world: World, point: str) -> list[Sender]:
    world.node.kill()
    away = world.away()
    clients = senders(away.port)
    away.start()
    try:
        with world.locked_log():
            threads = [client.start(point) for client in clients]
            eventually(lambda: len(clients[0].acknowledged) == REQUESTS * EVENTS)
            away.kill()
    finally:
        away.kill()
    finish(world, point, threads)
    return clients


def break_node_to_log(world: World, point: str) -> list[Sender]:
    world.node.kill()
    full = Node(world.home, world.node.port, prefix=(required("prlimit"), f"--fsize={SHARED_MEMORY}"))
    clients = senders(full.port)
    full.start()
    try:
        threads = [client.start(point) for client in clients]
        eventually(
            lambda: len(clients[0].acknowledged) == len(clients[3].acknowledged) == REQUESTS * EVENTS, 40
        )
        assert not clients[1].acknowledged
        assert not clients[2].acknowledged
    finally:
        full.kill()
    finish(world, point, threads)
    return clients


def break_log_to_kafka(world: World, point: str) -> list[Sender]:
    world.node.kill()
    away = world.away()
    clients = senders(away.port)
    away.start()
    try:
        threads = [client.start(point) for client in clients]
        for thread in threads[:3]:
            thread.join(30)
        eventually(lambda: accounts_of(away.home, away.name)["s0"].lost == REQUESTS * EVENTS, 30)
    finally:
        away.kill()
    finish(world, point, threads)
    return clients


def kill_after_kafkas_acknowledgement(world: World, point: str) -> list[Sender]:
    world.node.kill()
    away, clients = world.away(), senders(world.node.port)
    away.start()
    try:
        for client in clients[1:3]:
            client.send_all(point)
    finally:
        away.kill()
    with world.locked_log():
        world.node.start()
        for client in (clients[0], clients[3]):
            client.send_all(point)
        eventually(lambda: len(world.in_kafka(point)) == 4 * REQUESTS * EVENTS, 30)
        world.node.kill()
    finish(world, point, [])
    return clients


def break_kafka_to_bronze(world: World, point: str) -> list[Sender]:
    clients, rng = senders(world.node.port), Random(6)
    for client in clients:
        client.send_all(point)
    world.node.wait_until_forwarded()
    for _ in range(3):
        process = subprocess.Popen(
            command("run", "ingest"),
            env=world.home.env,
            cwd=world.home.place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(6, 14))
        process.kill()
        process.wait()
    return clients


def lose_the_acknowledgement(world: World, point: str) -> list[Sender]:
    with cutting_proxy(world.node.port) as proxy:
        proxy.cut = Cut.ANSWER
        clients = senders(proxy.address)
        threads = [client.start(point) for client in clients]
        eventually(lambda: len({event.split(" / ")[1] for event in world.in_kafka(point)}) == len(clients))
        proxy.cut = Cut.NOWHERE
        for thread in threads:
            thread.join(30)
    world.node.wait_until_forwarded()
    return clients


BREAK = {
    "client to node": break_client_to_node,
    "in the node": break_the_node,
    "node to log": break_node_to_log,
    "log to Kafka: no broker": break_log_to_kafka,
    "log to Kafka: the node": kill_after_kafkas_acknowledgement,
    "Kafka to bronze": break_kafka_to_bronze,
    "the acknowledgement": lose_the_acknowledgement,
}


def documented() -> dict[str, dict[str, str]]:
    """The documented table: the result of each semantics, by failure."""
    lines = DOCS.read_text().partition("| failure |")[2].splitlines()
    names = [cell.strip() for cell in lines[0].strip("| ").split("|")]
    rows = {}
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        failure, *cells = [cell.strip() for cell in line.strip("| ").split("|")]
        rows[failure] = dict(zip(names, cells, strict=True))
    return rows


def row_of(point: str) -> dict[str, str]:
    (row,) = [row for failure, row in documented().items() if failure.startswith(point)]
    return row


def test_losses_and_duplicates_match_the_documented_table(world: World) -> None:
    assert len(documented()) == len(BREAK)
    clients = {point: each(world, point) for point, each in BREAK.items()}
    world.node.wait_until_forwarded()
    in_kafka = {point: world.in_kafka(point) for point in BREAK}
    world.node.kill()
    world.home.must("run", *JOBS, "--once")
    audit = world.home.must("audit")
    assert "at most once" in audit
    in_silver = Counter(name for (name,) in world.home.sql("SELECT name FROM silver.events"))
    for point, of_point in clients.items():
        observed = {each.source: result(each, in_kafka[point], in_silver) for each in of_point}
        assert observed == row_of(point), point


def result(client: Sender, in_kafka: Counter[str], in_silver: Counter[str]) -> str:
    assert len(client.acknowledged) == REQUESTS * EVENTS
    if any(in_silver[name] == 0 for name in client.acknowledged):
        return LOST
    if any(in_silver[name] > 1 for name in client.acknowledged):
        return TWICE
    return COPIES if any(in_kafka[name] > 1 for name in client.acknowledged) else RIGHT
