"""A collector that gets SIGTERM forwards what it has taken, and writes its counts."""

import http.client
import json
import signal
from collections.abc import Callable
from hashlib import sha256

import pytest

from kit.collecting import accounts_of, collector, values_in, with_sources
from kit.home import Home
from millrace.local.process.ports import stable_port

REQUESTS, EVENTS = 5, 20


@pytest.mark.parametrize("delivery", ["at_most_once", "exactly_once"])
def test_events_and_counts_are_complete_after_sigterm(new_home: Callable[..., Home], delivery: str) -> None:
    key = sha256(b"key").hexdigest()
    home = with_sources(new_home(), f"sources: [{{name: shop, key_sha256: {key}, delivery: {delivery}}}]")
    with collector(home, stable_port()) as node:
        assert node.process is not None
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=10)
        for request in range(REQUESTS):
            batch = [{"type": "track", "event": f"{request}.{each}", "userId": "u"} for each in range(EVENTS)]
            connection.request("POST", "/v1/batch", json.dumps({"batch": batch, "writeKey": "key"}))
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b'{"success":true}')
        node.process.send_signal(signal.SIGTERM)
        assert node.process.wait(30) == 0
        node.process = None
        connection.close()
    account = accounts_of(home)["shop"]
    assert (account.received, account.forwarded, account.lost) == (REQUESTS * EVENTS, REQUESTS * EVENTS, 0)
    assert len({value["event"] for value in values_in(home)}) == REQUESTS * EVENTS
