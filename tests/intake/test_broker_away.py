"""During a broker outage, events wait in the log up to its budget, and clients retry the rest."""

import os
import threading
import time
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
import segment.analytics.client as segment

from kit.collecting import collector, health, values_in
from kit.home import Home
from kit.killed_broker import killed_broker
from kit.polling import eventually
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.long

OUTAGE_SECONDS = int(os.environ.get("MILLRACE_TEST_SECONDS", "60"))
RATE, CLIENTS = 500, 5
EVENT_BYTES = 440  # approximate size of an event in the log
BUDGET = RATE * OUTAGE_SECONDS * EVENT_BYTES * 2 // 3


class Client(threading.Thread):
    """Sends events at a steady rate by an SDK of Segment, until all are delivered."""

    def __init__(self, number: int, port: int) -> None:
        super().__init__(daemon=True)
        self._number = number
        self.failed: list[object] = []
        count = RATE * OUTAGE_SECONDS // CLIENTS
        self.names = [f"{number}.{each}" for each in range(count)]
        self._client = segment.Client(
            "key",
            host=f"http://127.0.0.1:{port}",
            max_queue_size=2 * count,
            on_error=lambda error, _items: self.failed.append(error),
        )

    def run(self) -> None:
        begin, rate = time.monotonic(), RATE / CLIENTS
        for number, name in enumerate(self.names):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            assert self._client.track(f"user{self._number}", name)[0]
        self._client.flush()
        self._client.join()


def test_broker_outage_refuses_events_only_at_full_log_and_loses_none(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    port = stable_port()
    with killed_broker(tmp_path / "broker") as broker:
        more = {"MILLRACE_COLLECTOR_LOG_BYTES": str(BUDGET)}
        home = Home(tmp_path / "home", broker.bootstrap, f"events-{uuid4().hex}", more)
        with collector(home, port) as node:
            node.wait_until_ready()
            clients = [Client(number, port) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            eventually(lambda: health(port)["forwarded"] > RATE)
            broker.kill()
            outage_started, usages = time.monotonic(), []
            while time.monotonic() < outage_started + OUTAGE_SECONDS:
                usages.append(_usage(port))
                clients[0].join(0.5)
            broker.start()
            for client in clients:
                client.join(600)
            node.wait_until_forwarded(120)
        sent = [name for client in clients for name in client.names]
        arrived = {value["messageId"]: value["event"] for value in values_in(home)}
    assert [client.failed for client in clients] == [[]] * CLIENTS
    assert Counter(arrived.values()) == Counter(sent)
    assert all(used > 0.95 for used, refused in usages if refused), "refused before the budget was used"
    assert usages[-1][1] > 0


def _usage(port: int) -> tuple[float, int]:
    """The share of the budget that is used, and how many events were refused so far."""
    found = health(port)
    refused = found["sources"].get("local", {}).get("refused", 0)
    return found["waiting_bytes"] / BUDGET, refused
