"""At three times capacity, protected sources lose nothing; the rest is shed and replayed, or refused."""

import http.client
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

import pytest

from intake.log.accounts import read_accounts
from intake.log.place import log_file
from kit.collecting import Node, collector, values_in, with_sources
from kit.home import JOBS, Home
from kit.polling import eventually
from kit.tables import differences
from lakehouse.contracts import TABLES
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.long

SECONDS = int(os.environ.get("MILLRACE_TEST_SECONDS", "60"))
CAPACITY, BATCH = 400, 20
RATES = {"till": 300, "shop": 600, "app": 300}  # events a second: three times the capacity
OPTIONS = {"till": "protected: true", "shop": "overload: shed", "app": "overload: refuse"}
BEGIN = datetime(2026, 11, 2, 10, tzinfo=timezone.utc)
_NAMES = ("Product Viewed", "Products Searched", "Promotion Viewed", "Promotion Clicked", "Order Completed")


def event(source: str, number: int) -> dict[str, Any]:
    """An event whose event time does not depend on its arrival."""
    name = _NAMES[number % 5]
    order = {"order_id": f"{source}{number}", "total": 10 + number % 7, "currency": "EUR"}
    return {
        "type": "track",
        "event": name,
        "messageId": f"{source}-{number}",
        "anonymousId": f"{source}{number // 20}",
        "timestamp": (BEGIN + timedelta(seconds=number / 10)).isoformat(),
        "properties": {"promotion_id": f"p{number % 3}", "query": f"q{number % 4}", **order},
    }


@dataclass(eq=False)
class Client(threading.Thread):
    """Sends batches at a fixed rate. A refused batch is counted and not retried."""

    source: str
    port: int
    accepted: int = 0
    shed: int = 0
    refused: int = 0
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        begin, rate = time.monotonic(), RATES[self.source]
        for first in range(0, rate * SECONDS, BATCH):
            time.sleep(max(0.0, begin + first / rate - time.monotonic()))
            batch = [event(self.source, first + number) for number in range(BATCH)]
            connection.request("POST", "/v1/batch", json.dumps({"batch": batch, "writeKey": self.source}))
            answer = connection.getresponse()
            self._count(answer.status, json.loads(answer.read()))
        connection.close()

    def _count(self, status: int, body: dict[str, Any]) -> None:
        if status == 200:
            self.shed += body.get("shed", 0)
            self.accepted += BATCH - body.get("shed", 0)
        elif status == 429:
            self.refused += BATCH
        else:
            self.failed.append(f"{status} {body}")


def sources_file() -> str:
    return "sources:\n" + "".join(
        f"  - {{name: {name}, key_sha256: {sha256(name.encode()).hexdigest()}, {options}}}\n"
        for name, options in OPTIONS.items()
    )


def test_protected_events_are_kept_and_shed_events_are_replayed(new_home: Callable[..., Home]) -> None:
    home = with_sources(new_home(MILLRACE_COLLECTOR_CAPACITY=str(CAPACITY)), sources_file())
    with collector(home, stable_port()) as node:
        clients = {name: Client(name, node.port) for name in RATES}
        for client in clients.values():
            client.start()
        for client in clients.values():
            client.join()
        node.wait_until_forwarded()
        _check_counts(home, node, clients)
        replayed = home.must("replay", "shed")
        assert f"{clients['shop'].shed:,} shed events" in replayed
        file = log_file(home.path, node.name)
        eventually(lambda: not any(account.waiting for account in read_accounts(file)), 60)
    arrived = {value["messageId"] for value in values_in(home)}
    home.must("run", *JOBS, "--once")
    home.must("audit")
    baseline = _run_without_overload(new_home, arrived)
    assert len(arrived) == sum(client.accepted + client.shed for client in clients.values())
    names = [name for name in TABLES if name.startswith(("silver.", "gold."))]
    assert differences(home, baseline, *names) == {}


def _check_counts(home: Home, node: Node, clients: dict[str, Client]) -> None:
    accounts = {account.source: account for account in read_accounts(log_file(home.path, node.name))}
    for name, client in clients.items():
        sent = RATES[name] * SECONDS
        assert client.failed == []
        assert sent == client.accepted + client.shed + client.refused
        account = accounts[name]
        counted = (account.received, account.shed, account.refused, account.missing)
        assert counted == (client.accepted + client.shed, client.shed, client.refused, 0)
    assert (clients["till"].shed, clients["till"].refused) == (0, 0)
    assert (clients["shop"].refused, clients["app"].shed) == (0, 0)
    assert clients["shop"].shed > RATES["shop"] * SECONDS / 2
    assert clients["app"].refused > RATES["app"] * SECONDS / 2


def _run_without_overload(new_home: Callable[..., Home], arrived: set[str]) -> Home:
    """A run of the same events on a collector with enough capacity."""
    home = new_home()
    with collector(home, stable_port()) as node:
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
        for name, rate in RATES.items():
            kept = [each for each in range(rate * SECONDS) if f"{name}-{each}" in arrived]
            for first in range(0, len(kept), 100):
                batch = [event(name, number) for number in kept[first : first + 100]]
                connection.request("POST", "/v1/batch", json.dumps({"batch": batch}))
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200
        connection.close()
        node.wait_until_forwarded()
    home.must("run", *JOBS, "--once")
    return home
