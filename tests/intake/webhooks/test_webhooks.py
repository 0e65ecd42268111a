"""Webhooks sent to a collector in a separate process with a real broker."""

import base64
import http.client
import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from intake.sources import load_sources
from kit.collecting import accounts_of, collector, forwarded, values_in, with_sources
from kit.home import Home
from kit.parser import parse
from kit.polling import eventually
from kit.records import Record
from kit.sending import in_topic
from kit.signed_webhooks import shopify, standard, stripe
from lakehouse.errors import MillraceError
from millrace.local.process.ports import stable_port

SECRET, SHOPIFY, STANDARD = "stripe-secret-never-shown", "shopify-secret", base64.b64encode(b"key").decode()
SOURCES = """
sources:
  - name: payments
    webhook: {signature: stripe, secret_env: [OLD_SECRET, PAYMENTS_SECRET]}
    largest_body: 100000
    events:
      id: id
      time: created
      name: type
      names: {checkout.session.completed: Order Completed}
      user: data.object.client_reference_id
      properties: {order_id: data.object.id, currency: data.object.currency}
      minor_units: {total: data.object.amount_total}
  - name: shop
    webhook: {signature: shopify, secret_env: SHOPIFY_SECRET}
    events:
      names: {orders/create: Order Completed}
      properties: {order_id: id, currency: currency, total: total}
  - name: other
    webhook: {signature: standard_webhooks, secret_env: STANDARD_SECRET}
    delivery: at_least_once
"""
PURCHASE = json.dumps(
    {
        "id": "evt_1",
        "created": int(time.time()),
        "type": "checkout.session.completed",
        "data": {
            "object": {"client_reference_id": "ada", "id": "o-1", "currency": "kwd", "amount_total": 12345}
        },
    }
).encode()


def post(port: int, path: str, body: bytes, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def new_collector_home(new_home: Callable[..., Home]) -> Home:
    secrets = {"PAYMENTS_SECRET": SECRET, "SHOPIFY_SECRET": SHOPIFY, "STANDARD_SECRET": STANDARD}
    return with_sources(new_home(**secrets), SOURCES)


def test_webhooks_become_events_and_resends_keep_their_event_id(new_home: Callable[..., Home]) -> None:
    home, port = new_collector_home(new_home), stable_port()
    order = b'{"id": 7, "currency": "EUR", "total": "5.50", "email": "ada@shop.example"}'
    with collector(home, port):
        for _ in range(2):
            assert post(port, "/v1/webhooks/payments", PURCHASE, stripe(PURCHASE, SECRET)) == 200
            assert (
                post(port, "/v1/webhooks/shop", order, shopify(order, SHOPIFY, "orders/create", "d-1")) == 200
            )
            assert post(port, "/v1/webhooks/other", b"[1]", standard(b"[1]", b"key", "msg_1")) == 200
        eventually(lambda: forwarded(home) == 6, 30)
        received = {name: account.received for name, account in accounts_of(home).items()}
        assert received == dict.fromkeys(("payments", "shop", "other"), 2)
    now = datetime.now(timezone.utc)
    rows = parse([Record(record.value, timestamp=now) for record in in_topic(home.settings)])
    assert {row["reason"] for row in rows} == {None}
    assert sorted(row["event_id"] for row in rows) == sorted(
        ["payments:evt_1", "shop:d-1", "other:msg_1"] * 2
    )
    found = {row["event_id"]: row for row in rows}
    paid, ordered = found["payments:evt_1"], found["shop:d-1"]
    assert (paid["role"], paid["value"], paid["currency"]) == ("goal", Decimal("12.345"), "KWD")
    assert (paid["user_id"], paid["order_id"]) == ("ada", "o-1")
    assert (ordered["role"], ordered["value"], ordered["order_id"]) == ("goal", Decimal("5.50"), "7")
    written = (home.path / "collect-main.log").read_text()
    assert [text for text in (SECRET, "ada@shop", "evt_1") if text in written] == []


def test_unsigned_oversized_or_unknown_webhook_is_rejected(new_home: Callable[..., Home]) -> None:
    home, port = new_collector_home(new_home), stable_port()
    large = json.dumps({"id": "x" * 100_001}).encode()
    payments = "/v1/webhooks/payments"
    with collector(home, port):
        for expected, path, body, headers in (
            (401, payments, PURCHASE, {}),
            (401, payments, PURCHASE + b" ", stripe(PURCHASE, SECRET)),
            (401, payments, PURCHASE, stripe(PURCHASE, "another")),
            (401, payments, PURCHASE, stripe(PURCHASE, "")),
            (401, payments, PURCHASE, stripe(PURCHASE, SECRET, at=time.time() - 400)),
            (401, payments, PURCHASE, shopify(PURCHASE, SHOPIFY, "orders/create", "d")),
            (401, payments, b"{", {}),
            (400, payments, b"{", stripe(b"{", SECRET)),
            (413, payments, large, stripe(large, SECRET)),
            (404, "/v1/webhooks/unknown", PURCHASE, stripe(PURCHASE, SECRET)),
            (404, "/v1/webhooks/local", PURCHASE, stripe(PURCHASE, SECRET)),
            (401, "/v1/track?writeKey=", b'{"userId": "u"}', {}),
            (200, payments, PURCHASE, stripe(PURCHASE, SECRET)),
        ):
            assert post(port, path, body, headers) == expected, (path, body[:20], headers)
        eventually(lambda: forwarded(home) == 1, 30)
    assert [value["messageId"] for value in values_in(home)] == ["payments:evt_1"]


def test_collector_with_missing_or_invalid_secret_does_not_start(new_home: Callable[..., Home]) -> None:
    invalid = "never shown!"
    home = with_sources(new_home(STANDARD_SECRET=f"whsec_{invalid}", SHOPIFY_SECRET=SHOPIFY), SOURCES)
    for more, named in (({"PAYMENTS_SECRET": ""}, "OLD_SECRET"), ({"OLD_SECRET": SECRET}, "STANDARD_SECRET")):
        ended = home.run("collect", "--port", str(stable_port()), **more)
        assert ended.returncode != 0
        shown = ended.stdout + ended.stderr
        assert named in shown
        assert [secret for secret in (SECRET, SHOPIFY, invalid) if secret in shown] == []


@pytest.mark.parametrize(
    "entry",
    [
        "webhook: {signature: stripe}",
        "webhook: {signature: other, secret_env: A}",
        "webhook: {signature: stripe, secret_env: whsec_1234}",
        "webhook: {signature: stripe, secret_env: A, header: X-B}",
        "webhook: {signature: hmac_sha256, secret_env: A}",
        "webhook: {signature: hmac_sha256, secret_env: A, header: 'X: B'}",
        "webhook: {signature: stripe, secret_env: A, tolerance: PT0S}",
        f"webhook: {{signature: stripe, secret_env: A}}, key_sha256: {'a' * 64}",
        "webhook: {signature: stripe, secret_env: A}, pull: {url: https://a.example}",
        "webhook: {signature: stripe, secret_env: A}, events: {minor_units: {total: a}}",
        "webhook: {signature: stripe, secret_env: A}, events: {id: a..b}",
        "webhook: {signature: stripe, secret_env: A}, events: {when: {a: []}}",
        "webhook: {signature: stripe, secret_env: A}, events: {when: {a: 1.5}}",
        "webhook: {signature: stripe, secret_env: A}, events: {when: {a: {b: c}}}",
        "webhook: {signature: stripe, secret_env: A}, events: {sums: {total: a}}",
        "webhook: {signature: stripe, secret_env: A}, events: {sums: {original: {list: a, of: b}}}",
        "webhook: {signature: stripe, secret_env: A}, events: {names: {a: {when: {b: c}}}}",
        "webhook: {signature: stripe, secret_env: A}, events: {names: {a: {event: B, id: c}}}",
        "webhook: {signature: stripe, secret_env: A}, events: {names: {a: {event: B, minor_units: {c: d}}}}",
        (
            "webhook: {signature: stripe, secret_env: A}, events: {properties: {currency: a},"
            " minor_units: {b: c}, names: {d: {event: E, properties: {f: g}}}}"
        ),
        f"key_sha256: {'a' * 64}, events: {{id: a}}",
    ],
)
def test_invalid_webhook_entry_is_rejected(tmp_path: Path, entry: str) -> None:
    (tmp_path / "sources.yml").write_text(f"sources: [{{name: a, {entry}}}]")
    with pytest.raises(MillraceError, match=r"conf/sources\.yml") as error:
        load_sources(tmp_path)
    assert "whsec_1234" not in str(error.value)
