"""Hostile requests are refused or logged unchanged for silver to reject; the collector keeps running."""

import gzip
import http.client
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random

from kit.collecting import collector
from kit.home import Home
from kit.sending import in_topic
from millrace.local.process.ports import stable_port

BODIES = 10_000
CLIENTS, VALID_INTERVAL = 4, 100  # requests per valid event
VALID = re.compile(rb'"messageId": ?"valid (\d+)"')
PATHS = (
    *("/v1/batch", "/v1/track", "/v1/page", "/v1/t", "/v1/import"),
    *("/v1/..%2f", "/v1/", "/v1/pixel/track", "/v1/promise", "/x"),
)
PIECES = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"1e999", b"-0", b"1" * 400),
    *(b"\\ud800", b"\xff\xfe", b"\x00", b"\n", b"{" * 5000),
    *(b'"batch"', b'"messageId"', b'"userId"', b'"sentAt"', b'"context"', b'"timestamp"'),
)
EVENT = {"type": "track", "event": "A", "userId": "u", "properties": {"a": [1, {"b": None}]}}


def body_of(rng: Random) -> bytes:
    if rng.random() < 0.3:
        return b"".join(rng.choices(PIECES, k=rng.randrange(12)))
    body = bytearray(json.dumps({"batch": [EVENT] * rng.randrange(4), "sentAt": "x"} | EVENT).encode())
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(body) + 1)
        body[at : at + rng.randrange(4)] = rng.choice(PIECES)
    return bytes(body[: rng.randrange(len(body) + 1)] if rng.random() < 0.2 else body)


def headers_of(rng: Random) -> dict[str, str]:
    encodings = ({}, {}, {"Content-Encoding": "gzip"}, {"Content-Encoding": "br"}, {"Content-Encoding": ""})
    logins = ({}, {"Authorization": "Basic %%%"}, {"Authorization": "Basic /w=="}, {"Authorization": "x"})
    origins = ({}, {}, {"Origin": "null"}, {"Origin": "https://a.example"}, {"Origin": "\xfc"})
    return {
        **rng.choice(encodings),
        **rng.choice(logins),
        **rng.choice(origins),
        "Millrace-Promise": rng.choice(("end", "", "2026-11-02T10:00:00Z", "9999-99-99", "\xfc")),
    }


def send_all(port: int, client: int) -> set[int]:
    """Send a client's share of requests, some of them valid. Returns the statuses of the hostile ones."""
    rng, statuses = Random(client), set[int]()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for number in range(client, BODIES, CLIENTS):
        if number % VALID_INTERVAL == client:
            event = EVENT | {"messageId": f"valid {number}"}
            connection.request("POST", "/v1/track", json.dumps(event))
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
        body, headers = body_of(rng), headers_of(rng)
        if headers.get("Content-Encoding") == "gzip" and rng.random() < 0.7:
            body = gzip.compress(body)
        method = rng.choice(("POST", "POST", "POST", "PUT", "GET"))
        connection.request(method, rng.choice(PATHS), body, headers)
        answer = connection.getresponse()
        answer.read()
        statuses.add(answer.status)
    connection.close()
    return statuses


def test_hostile_requests_cause_no_server_error_and_no_event_loss(new_home: Callable[..., Home]) -> None:
    home, port = new_home(), stable_port()
    with collector(home, port) as node, ThreadPoolExecutor(CLIENTS) as pool:
        statuses = set().union(*pool.map(partial(send_all, port), range(CLIENTS)))
        node.wait_until_forwarded()
    assert statuses <= {200, 400, 401, 404, 405, 413}
    assert {200, 400, 404} <= statuses
    found = [VALID.search(record.value or b"") for record in in_topic(home.settings)]
    expected = [number for client in range(CLIENTS) for number in range(client, BODIES, VALID_INTERVAL)]
    assert sorted(int(each[1]) for each in found if each) == sorted(expected)
