"""Bodies as beacons, clients and proxies send them: an event each, or 400 with a reason and no event."""

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from kit.collecting import ONE_SOURCE
from kit.collector_app import CollectorApp, collector_app

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FORM = "application/x-www-form-urlencoded"
EVENT = {"type": "page", "messageId": "1", "anonymousId": "a", "timestamp": "2026-05-01T09:59:59Z"}
BATCH = {"writeKey": "k", "sentAt": "2026-05-01T10:00:00Z", "batch": [EVENT]}
BODY = json.dumps(BATCH).encode()
ACCENTED = json.dumps({**EVENT, "context": {"page": {"title": "Café"}}}, ensure_ascii=False)


@pytest.fixture
def collecting(tmp_path: Path) -> Iterator[CollectorApp]:
    with collector_app(tmp_path) as app:
        yield app


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "text/plain;charset=UTF-8"}, BODY),  # navigator.sendBeacon of a text
        ({"Content-Type": FORM}, BODY),  # curl's default
        ({"Content-Type": "application/json; charset=utf-8"}, BODY),
        ({"Content-Type": 'Application/JSON; Charset="UTF-8"'}, BODY),
        ({"Content-Type": "application/json; charset=nonsense"}, BODY),
        ({"Content-Type": ""}, BODY),
        ({}, BODY),
        ({"Content-Encoding": "gzip", "Content-Type": "text/plain"}, gzip.compress(BODY)),
        ({"Content-Encoding": " X-GZIP "}, gzip.compress(BODY)),
        ({"Content-Encoding": "identity"}, BODY),
        ({"Content-Encoding": "gzip"}, BODY),  # decompressed by a proxy that leaves the header
        ({"Content-Encoding": "gzip"}, BYTE_ORDER_MARK + b"\n " + BODY),
        ({"Content-Encoding": "gzip"}, gzip.compress(BYTE_ORDER_MARK + BODY)),
        ({}, BYTE_ORDER_MARK + BODY),
        ({}, b"\r\n" + BODY + b"\n"),
    ],
)
def test_batch_is_accepted_whatever_its_content_type_says(
    collecting: CollectorApp, headers: dict[str, str], body: bytes
) -> None:
    answer = collecting.client.post("/v1/batch", content=body, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    (row,) = collecting.rows()
    assert (row["reason"], row["event_id"], row["visitor_id"]) == (None, "1", "a")


@pytest.mark.parametrize("path", ["/v1/page", "/v1/p"])
def test_single_event_and_pixel_may_start_with_byte_order_mark(collecting: CollectorApp, path: str) -> None:
    body = BYTE_ORDER_MARK + json.dumps(EVENT).encode()
    assert collecting.client.post(path, content=body).status_code == 200
    pixel = base64.urlsafe_b64encode(body).decode()
    assert collecting.client.get("/v1/pixel/page", params={"data": pixel}).status_code == 200
    assert [row["event_id"] for row in collecting.rows()] == ["1", "1"]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain;charset=iso-8859-1", ACCENTED.encode("latin-1")),
        ('text/plain; charset="Windows-1252"', ACCENTED.encode("cp1252")),
        ("text/plain;charset=iso-8859-1", ACCENTED.encode()),  # JSON is UTF-8, whatever a server's default is
    ],
)
def test_text_in_declared_charset_becomes_utf_8(
    collecting: CollectorApp, content_type: str, body: bytes
) -> None:
    answer = collecting.client.post("/v1/page", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == 200
    (event,) = collecting.events()
    assert event["context"]["page"]["title"] == "Café"


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        ({}, gzip.compress(BODY), "the body is gzip, but Content-Encoding does not say so"),
        ({"Content-Type": FORM}, urlencode({"data": base64.b64encode(BODY)}).encode(), "the body is a form"),
        ({}, urlencode({"data": BODY}).encode(), "the body is a form"),
        (
            {"Content-Type": "multipart/form-data; boundary=x"},
            b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n' + BODY + b"\r\n--x--\r\n",
            "the body is a form",
        ),
        ({"Content-Encoding": "gzip"}, b"page", "the body is not gzip"),
        ({"Content-Encoding": "gzip"}, b"", "the body is not gzip"),
        ({"Content-Encoding": "gzip"}, gzip.compress(BODY)[:-9], "the body's gzip is cut off"),
        ({"Content-Encoding": "gzip"}, b"\x1f\x8b" + BODY, "the body is not gzip"),
        ({"Content-Encoding": "gzip"}, gzip.compress(gzip.compress(BODY)), "the body is gzip, but"),
        ({"Content-Encoding": "br"}, BODY, "neither gzip nor identity"),
        ({}, b"", "the body is no JSON object"),
        ({}, BODY.decode().encode("utf-16"), "the body is not UTF-8"),
        ({}, json.dumps({"batch": [EVENT], "x": "Café"}, ensure_ascii=False).encode("latin-1"), "not UTF-8"),
        ({"Content-Type": "text/plain;charset=klingon"}, b'{"x": "\xff"}', "the body is not UTF-8"),
        ({}, base64.b64encode(BODY), "the body is no JSON object"),
        ({}, BODY + BODY, "the body is no JSON object"),
        ({}, json.dumps({"batch": [EVENT, 7]}).encode(), "a message is no JSON object"),
        ({}, json.dumps({"batch": [EVENT], "writeKey": "k"})[:-1].encode(), "the body is no JSON object"),
        ({}, json.dumps({"sentAt": "2026-05-01T10:00:00Z"}).encode(), "the body has no batch"),
    ],
)
def test_body_that_is_no_batch_is_refused_with_its_reason(
    collecting: CollectorApp, headers: dict[str, str], body: bytes, reason: str
) -> None:
    answer = collecting.client.post("/v1/batch", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "Bad Request")
    assert reason in answer.json()["message"]
    assert collecting.values() == []


def test_write_key_is_read_behind_byte_order_mark_and_in_another_charset(tmp_path: Path) -> None:
    keyed = json.dumps({**EVENT, "writeKey": "key", "name": "Café"}, ensure_ascii=False)
    with collector_app(tmp_path, ONE_SOURCE) as app:
        for body in (BYTE_ORDER_MARK + keyed.encode(), keyed.encode("latin-1")):
            headers = {"Content-Type": "text/plain;charset=iso-8859-1"}
            assert app.client.post("/v1/page", content=body, headers=headers).status_code == 200
        assert app.client.post("/v1/page", content=keyed.replace("key", "other").encode()).status_code == 401
        assert len(app.values()) == 2
