"""Hostile requests are refused or kept as they came, for silver to reject; the collector goes on."""

import gzip
import http.client
import json
from collections.abc import Callable
from random import Random

from kit.collecting import collector, health
from kit.home import Home
from kit.polling import eventually
from kit.sending import in_topic
from millrace.local.process.ports import stable_port

BODIES = 3000
PATHS = (
    *("/v1/batch", "/v1/track", "/v1/page", "/v1/t", "/v1/import"),
    *("/v1/..%2f", "/v1/", "/v1/pixel/track", "/x"),
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
    return {
        **rng.choice(encodings),
        **rng.choice(logins),
        "Origin": rng.choice(("null", "https://a.example", "\xfc")),
    }


def test_no_request_is_an_error_of_the_server(new_home: Callable[..., Home]) -> None:
    home, port, rng = new_home(), stable_port(), Random(8)
    statuses: set[int] = set()
    with collector(home, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for _ in range(BODIES):
            body, headers = body_of(rng), headers_of(rng)
            if headers.get("Content-Encoding") == "gzip" and rng.random() < 0.7:
                body = gzip.compress(body)
            connection.request(
                rng.choice(("POST", "POST", "POST", "PUT", "GET")), rng.choice(PATHS), body, headers
            )
            answer = connection.getresponse()
            answer.read()
            statuses.add(answer.status)
        connection.request("POST", "/v1/track", json.dumps(EVENT | {"messageId": "last"}).encode())
        assert connection.getresponse().status == 200
        connection.close()
        eventually(lambda: health(port)["waiting"] == 0, 30)
    assert statuses <= {200, 400, 401, 404, 405, 413}
    assert {200, 400, 404} <= statuses
    assert sum(b'"last"' in record.value for record in in_topic(home.settings)) == 1
