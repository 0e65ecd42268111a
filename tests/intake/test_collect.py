"""The collector in a separate process with a real broker, killed while clients send."""

import base64
import gzip
import http.client
import json
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from kit.collecting import collector, health, values_in
from kit.home import JOBS, Home
from kit.polling import eventually
from kit.running_dashboard import answers
from lakehouse.errors import MillraceError
from millrace.explain.receipt import DUPLICATE, EVENT, IN_KAFKA, REJECTED, follow_receipt
from millrace.local.process.ports import stable_port

FEW_KILLS, KILLS = 2, 5
CLIENTS = 4


def post(port: int, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(
            "POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_each_endpoint_returns_its_status_and_forwards_valid_events(new_home: Callable[..., Home]) -> None:
    home, port = new_home(), stable_port()
    track = {"type": "track", "event": "A", "userId": "u", "messageId": "1"}
    with collector(home, port):
        batch = json.dumps({"batch": [track, {**track, "messageId": "2"}], "sentAt": "2026-11-02T10:00:00Z"})
        key = base64.b64encode(b"key:").decode()
        status, headers, _ = post(port, "/v1/batch", batch.encode(), Authorization=f"Basic {key}")
        assert (status, headers["access-control-allow-origin"]) == (200, "*")
        zipped = gzip.compress(json.dumps({**track, "messageId": "3"}).encode())
        assert post(port, "/v1/track", zipped, Content_Encoding="gzip")[0] == 200
        assert (
            post(port, "/v1/t", json.dumps({**track, "messageId": "4", "writeKey": "k"}).encode())[0] == 200
        )
        for path, body, expected in (
            ("/v1/batch", b"{", 400),
            ("/v1/other", b"{}", 404),
            ("/v1/track", b"x" * (5 << 20), 413),
            ("/v1/track", json.dumps({"properties": {"x": "y" * 1_100_000}}).encode(), 413),
        ):
            assert post(port, path, body)[0] == expected
        assert post(port, "/v1/track", gzip.compress(b"x" * (5 << 20)), Content_Encoding="gzip")[0] == 413
        assert post(port, "/v1/track", zipped[:20], Content_Encoding="gzip")[0] == 400
        pixel = base64.b64encode(json.dumps({**track, "messageId": "5"}).encode()).decode()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", f"/v1/pixel/track?data={pixel}")
        image = connection.getresponse()
        assert (image.status, image.getheader("content-type"), image.read()[:3]) == (200, "image/gif", b"GIF")
        connection.request("OPTIONS", "/v1/batch")
        preflight = connection.getresponse()
        preflight.read()
        assert (preflight.status, preflight.getheader("access-control-allow-origin")) == (204, "*")
        connection.request("GET", "/v1/projects/k/settings")
        settings = json.loads(connection.getresponse().read())
        assert settings["integrations"]["Segment.io"]["apiHost"] == f"127.0.0.1:{port}/v1"
        connection.close()
        eventually(lambda: answers(f"http://127.0.0.1:{port}/ready"), 30)
        eventually(lambda: health(port)["forwarded"] == 5, 30)
    assert sorted(str(value["messageId"]) for value in values_in(home)) == ["1", "2", "3", "4", "5"]


class Client(threading.Thread):
    """Sends batches and retries each until it is acknowledged, as Segment's SDKs do."""

    def __init__(self, number: int, port: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._rng = Random(number)
        self._name = f"client{number}"
        self._port = port
        self._halt = stop
        self.acknowledged: list[str] = []

    def run(self) -> None:
        count = 0
        while not self._halt.is_set():
            ids = [f"{self._name}-{count + place}" for place in range(self._rng.randrange(1, 30))]
            count += len(ids)
            body = {
                "batch": [{"type": "track", "event": "A", "userId": "u", "messageId": uid} for uid in ids]
            }
            while True:
                with suppress(OSError, http.client.HTTPException):
                    if post(self._port, "/v1/batch", json.dumps(body).encode())[0] == 200:
                        self.acknowledged += ids
                        break
                if self._halt.wait(0.02):
                    return


def acknowledged_by(clients: list[Client]) -> int:
    return sum(len(client.acknowledged) for client in clients)


def send_across_kills(home: Home, port: int, kills: int) -> set[str]:
    """Let clients send to a repeatedly killed collector. Returns the acknowledged ids."""
    stop, rng = threading.Event(), Random(30)
    clients = [Client(number, port, stop) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for _ in range(kills):
        with collector(home, port):
            wanted = acknowledged_by(clients) + rng.randrange(50, 2000)
            eventually(lambda wanted=wanted: acknowledged_by(clients) >= wanted, 30)
    with collector(home, port):
        eventually(lambda: answers(f"http://127.0.0.1:{port}/ready"), 60)
        stop.set()
        for client in clients:
            client.join()
        eventually(lambda: health(port)["waiting"] == 0, 60)
    return {uid for client in clients for uid in client.acknowledged}


def test_acknowledged_events_reach_kafka_despite_collector_kills(
    new_home: Callable[..., Home],
) -> None:
    home = new_home()
    acknowledged = send_across_kills(home, stable_port(), FEW_KILLS)
    found = Counter(str(value["messageId"]) for value in values_in(home))
    assert len(acknowledged) > 100
    assert acknowledged - found.keys() == set()


@pytest.mark.long
def test_acknowledged_events_are_in_silver_exactly_once(new_home: Callable[..., Home]) -> None:
    home, port = new_home(), stable_port()
    with collector(home, port):
        order: dict[str, Any] = {"type": "track", "event": "Order Completed", "userId": "buyer"}
        order |= {"messageId": "order", "properties": {"order_id": "1"}}
        batch = [order, order, {"type": "nothing", "userId": "buyer"}]
        _, headers, _ = post(port, "/v1/batch", json.dumps({"batch": batch}).encode())
        receipt = headers["millrace-receipt"]
        eventually(lambda: health(port)["forwarded"] == 3, 30)
        assert [place.state for place in follow_receipt(home.settings, receipt)] == [IN_KAFKA] * 3
    acknowledged = send_across_kills(home, stable_port(), KILLS)
    home.must("run", *JOBS, "--once")
    home.must("audit")
    events = [uid for (uid,) in home.sql("SELECT event_id FROM silver.events")]
    assert len(events) == len(set(events))
    assert acknowledged <= set(events)
    places = follow_receipt(home.settings, receipt)
    assert sorted(place.state for place in places) == [DUPLICATE, EVENT, REJECTED]
    (conversion,) = home.sql("SELECT conversion_id FROM gold.conversions")
    of_event = next(place.details for place in places if place.state == EVENT)
    assert of_event is not None
    assert [of_event["conversion_id"]] == conversion
    after = home.run("sql", "SELECT count(*) FROM gold.conversions", "--csv", "--after", receipt)
    assert (after.returncode, after.stdout.split()[-1]) == (0, "1")
    assert home.run("sql", "SELECT 1", "--after", "unknown").returncode == 1
    with pytest.raises(MillraceError, match="no events are known"):
        follow_receipt(home.settings, "unknown")


def test_events_wait_in_log_until_kafka_is_reachable(new_home: Callable[..., Home]) -> None:
    home, port = new_home(), stable_port()
    away = Home(home.path, f"127.0.0.1:{stable_port()}", home.topic)
    event = {"type": "track", "event": "A", "userId": "u", "messageId": "waits"}
    with collector(away, port) as node:
        node.wait_until_ready()
        assert post(port, "/v1/track", json.dumps(event).encode())[0] == 200
    with collector(away, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/ready")
        assert connection.getresponse().status == 503
        connection.close()
    with collector(home, port):
        eventually(lambda: answers(f"http://127.0.0.1:{port}/ready"), 60)
        eventually(lambda: health(port)["forwarded"] == 1, 30)
    assert [value["messageId"] for value in values_in(home)] == ["waits"]
