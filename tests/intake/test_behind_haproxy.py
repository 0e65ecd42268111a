"""Without declared sources, who comes through the shipped HAProxy may not send, whatever host it names."""

import http.client
import json
from collections.abc import Callable
from pathlib import Path

from kit.collecting import collector, load_balancer
from kit.home import Home
from millrace.local.process.ports import stable_port

EVENT = json.dumps({"type": "track", "event": "A", "userId": "u", "messageId": "1"})


def status_of(port: int, **headers: str) -> int:
    """Status of an event that is sent to a port on this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/v1/track", EVENT, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_request_through_haproxy_is_not_of_this_machine(
    new_home: Callable[..., Home], tmp_path: Path
) -> None:
    node, public = stable_port(), stable_port()
    with collector(new_home(), node), load_balancer(tmp_path, public, (node, node)):
        assert status_of(node) == 200
        assert status_of(public) == 401
        assert status_of(public, Host="localhost") == 401
        assert status_of(public, Host="127.0.0.1", **{"X-Forwarded-For": "127.0.0.1"}) == 401
        assert status_of(node, Host="shop.example") == 401  # a site's name that resolves to this machine
