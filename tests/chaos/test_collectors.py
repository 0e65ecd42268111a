"""Five client libraries through two collectors and a load balancer; collectors and broker are killed."""

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from kit.collecting import ONE_SOURCE, Node, values_in, with_sources
from kit.home import JOBS, Home
from kit.killed_broker import KilledBroker, killed_broker
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle
from kit.proxies import haproxy
from kit.sdk_clients import CLIENTS, SendingClient, install_clients, journeys
from kit.stored_records import stored_records
from millrace.local.process.ports import stable_port

EVENTS = int(os.environ.get("MILLRACE_TEST_EVENTS", "100000")) // len(CLIENTS)
RATE = 100  # events a second of each client
NODE_KILLS, BROKER_KILLS = 20, 3


def test_killed_collectors_and_broker_lose_and_duplicate_no_event(tmp_path: Path) -> None:
    install_clients()
    rng = Random(30)
    (tmp_path / "home").mkdir()
    with killed_broker(tmp_path / "broker") as broker:
        home = Home(tmp_path / "home", broker.bootstrap, f"events-{uuid4().hex}")
        home, ports = with_sources(home, ONE_SOURCE), (stable_port(), stable_port())
        nodes = [Node(home, port, name) for port, name in zip(ports, "ab", strict=True)]
        try:
            for node in nodes:
                node.start()
            with haproxy("collector", tmp_path, ports, "/ready") as front:
                clients = [
                    SendingClient(
                        name, f"127.0.0.1:{front}", "key", list(journeys(name, EVENTS)), RATE, tmp_path
                    )
                    for name in CLIENTS
                ]
                for client in clients:
                    client.start()
                killed: list[Node | KilledBroker] = [*nodes * NODE_KILLS, *[broker] * BROKER_KILLS]
                rng.shuffle(killed)
                seconds = EVENTS / RATE / len(killed)
                for each in killed:  # one at a time: a client gives up after few tries
                    clients[0].join(rng.uniform(0, seconds))
                    each.kill()
                    each.start()
                    for node in nodes:
                        node.wait_until_ready()
                for client in clients:
                    client.join()
            for node in nodes:
                node.wait_until_forwarded()
        finally:
            for node in nodes:
                node.kill()
        failures = {name: client.failure for name, client in zip(CLIENTS, clients, strict=True)}
        assert failures == dict.fromkeys(CLIENTS)
        in_kafka = values_in(home)
        home.must("run", *JOBS, "--once")
        home.must("audit")
    sent = [_place(message) for name in CLIENTS for message in journeys(name, EVENTS)]
    by_id = {value["messageId"]: _place(value) for value in in_kafka}
    assert Counter(by_id.values()) == Counter(sent)
    assert len(in_kafka) >= len(by_id)
    events = [uid for (uid,) in home.sql("SELECT event_id FROM silver.events")]
    assert Counter(events) == dict.fromkeys(by_id, 1)
    # Distinct visitors of sketches are estimates above some thousands.
    assert_as_the_oracle(
        home.settings, Oracle.over(stored_records(home.settings)), left_out={"gold.sketches"}
    )


def _place(message: dict[str, Any]) -> tuple[str, int]:
    """The visitor and the number of an event."""
    traits = message.get("traits") or message.get("context", {}).get("traits")  # as RudderStack's clients do
    members = {**(message.get("properties") or {}), **(traits or {})}
    return message["anonymousId"], members["number"]
