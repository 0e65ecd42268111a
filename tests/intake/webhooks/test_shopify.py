"""Shopify's webhooks with the sources of docs/webhooks.md: which become orders and refunds, and of how much.

The bodies have the fields of the examples in Shopify's reference of its webhooks.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kit.collector_app import CollectorApp, collector_app
from kit.documented_sources import documented_sources
from kit.signed_webhooks import shopify

SECRET = "hush"
SECRETS = dict.fromkeys(("PAYMENTS_WEBHOOK_SECRET", "SHOP_WEBHOOK_SECRET", "TICKETS_SECRET"), SECRET)
ORDER: dict[str, Any] = {
    "id": 820982911946154508,
    "admin_graphql_api_id": "gid://shopify/Order/820982911946154508",
    "cancel_reason": "customer",
    "cancelled_at": "2021-12-31T20:00:00-05:00",
    "created_at": "2021-12-31T19:00:00-05:00",
    "currency": "USD",
    "current_total_price": "0.00",
    "customer": {"id": 115310627314723954, "email": "john@example.com"},
    "email": "jon@example.com",
    "financial_status": "voided",
    "name": "#9999",
    "order_number": 1234,
    "test": False,
    "total_price": "388.00",
    "line_items": [{"id": 487817672276298554, "price": "89.99", "quantity": 1, "sku": "SKU2006-001"}],
}
TRANSACTION: dict[str, Any] = {
    "id": 245135271310201194,
    "order_id": 820982911946154508,
    "kind": "refund",
    "gateway": "bogus",
    "status": "success",
    "amount": "10.00",
    "currency": "USD",
}
REFUND: dict[str, Any] = {
    "id": 890088186047892319,
    "order_id": 820982911946154508,
    "created_at": "2021-12-31T21:00:00-05:00",
    "note": "Things were damaged",
    "user_id": 548380009,
    "processed_at": "2021-12-31T21:00:00-05:00",
    "admin_graphql_api_id": "gid://shopify/Refund/890088186047892319",
    "refund_line_items": [{"id": 487817672276298627, "quantity": 1, "subtotal": 89.99, "total_tax": 0.0}],
    "transactions": [TRANSACTION],
    "order_adjustments": [],
}
NEW_YEAR = 1_640_995_200 * 1_000_000  # 2022-01-01T00:00:00Z
HOUR = 3600 * 1_000_000


@pytest.fixture
def collecting(tmp_path: Path) -> Iterator[CollectorApp]:
    (sources,) = documented_sources("webhooks")
    with collector_app(tmp_path, sources, SECRETS) as app:
        yield app


def send(app: CollectorApp, source: str, topic: str, body: object, *ids: str) -> int:
    """The status of a signed webhook with the ids of its delivery and event."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = shopify(raw, SECRET, topic, *(ids or ("w1", "e1"))) | {"Content-Type": "application/json"}
    return app.client.post(f"/v1/webhooks/{source}", content=raw, headers=headers).status_code


def test_created_order_keeps_its_id_to_the_digit_and_its_time(collecting: CollectorApp) -> None:
    assert send(collecting, "shop", "orders/create", ORDER) == 200
    (row,) = collecting.rows()
    assert (row["reason"], row["goal"], row["order_id"]) == (None, "Order Completed", "820982911946154508")
    assert (row["value"], row["currency"]) == (Decimal("388.00"), "USD")
    assert (row["user_id"], row["event_time"]) == ("115310627314723954", NEW_YEAR)


def test_retry_and_second_subscription_have_the_uid_of_the_event(collecting: CollectorApp) -> None:
    body = b'{"id":820982911946154508,"currency":"USD","total_price":"99.50","test":false}'
    for delivery in ("w1", "w1", "w2"):
        assert send(collecting, "shop", "orders/create", body, delivery, "e1") == 200
    rows = collecting.rows()
    assert [row["event_id"] for row in rows] == ["shop:e1"] * 3
    assert {(row["order_id"], row["value"]) for row in rows} == {("820982911946154508", Decimal("99.50"))}


def test_webhook_without_event_id_has_the_uid_of_its_delivery(collecting: CollectorApp) -> None:
    send(collecting, "shop", "orders/create", ORDER, "w1")
    assert collecting.rows()[0]["event_id"] == "shop:w1"


def test_other_topic_of_the_same_action_is_an_event_of_its_own(collecting: CollectorApp) -> None:
    for topic in ("orders/create", "orders/paid", "orders/paid"):
        send(collecting, "shop", topic, ORDER, topic, "e1")
    rows = collecting.rows()
    assert [row["event_id"] for row in rows] == ["shop:e1", "shop:orders/paid:e1", "shop:orders/paid:e1"]
    assert [row["role"] for row in rows] == ["goal", "other", "other"]


def test_test_order_is_no_order(collecting: CollectorApp) -> None:
    send(collecting, "shop", "orders/create", {**ORDER, "test": True})
    send(collecting, "shop", "orders/create", {name: ORDER[name] for name in ORDER if name != "test"})
    rows = collecting.rows()
    assert [(row["name"], row["goal"]) for row in rows] == [
        ("orders/create", None),
        ("Order Completed", "Order Completed"),
    ]


@pytest.mark.parametrize(
    ("transactions", "total", "value"),
    [
        ([], "0", "0"),  # restocked only
        ([TRANSACTION], "10.00", "-10"),
        ([TRANSACTION, {**TRANSACTION, "amount": "5.00"}], "15.00", "-15"),  # to a card and a voucher
        ([{"amount": "10.00", "currency": "USD"}, {"amount": "5.00", "currency": "USD"}], "15.00", "-15"),
        ([{**TRANSACTION, "amount": 0.1}, {**TRANSACTION, "amount": 0.2}], "0.3", "-0.3"),
        ([TRANSACTION, {**TRANSACTION, "status": "failure", "amount": "7.00"}], "10.00", "-10"),
        ([{**TRANSACTION, "status": "failure"}], "0", "0"),
    ],
)
def test_refund_is_the_exact_sum_of_its_payments(
    collecting: CollectorApp, transactions: list[dict[str, Any]], total: str, value: str
) -> None:
    assert send(collecting, "shoprefunds", "refunds/create", {**REFUND, "transactions": transactions}) == 200
    (row,), (event,) = collecting.rows(), collecting.events()
    assert (row["reason"], row["goal"], row["event_id"]) == (None, "Order Refunded", "shoprefunds:e1")
    assert (row["order_id"], row["refund_id"]) == ("820982911946154508", "890088186047892319")
    assert (event["properties"]["total"], row["value"]) == (total, Decimal(value))
    assert row["event_time"] == NEW_YEAR + 2 * HOUR


def test_cancelled_order_is_a_cancellation_at_its_own_time(collecting: CollectorApp) -> None:
    assert send(collecting, "shopcancellations", "orders/cancelled", ORDER) == 200
    (row,) = collecting.rows()
    assert (row["goal"], row["order_id"]) == ("Order Cancelled", "820982911946154508")
    assert row["event_time"] == NEW_YEAR + HOUR


def test_body_after_byte_order_mark_is_read_and_its_signature_is_of_all_bytes(
    collecting: CollectorApp,
) -> None:
    body = b"\xef\xbb\xbf" + json.dumps(ORDER).encode()
    assert send(collecting, "shop", "orders/create", body) == 200
    assert collecting.rows()[0]["value"] == Decimal("388.00")


@pytest.mark.parametrize(("body", "status"), [(b"{", 400), (b"", 400), (b"id=1&total=2", 400)])
def test_signed_body_that_is_not_json_is_refused_with_its_reason(
    collecting: CollectorApp, body: bytes, status: int
) -> None:
    headers = shopify(body, SECRET, "orders/create", "w1", "e1")
    answer = collecting.client.post("/v1/webhooks/shop", content=body, headers=headers)
    assert (answer.status_code, answer.json()["message"]) == (status, "the body is not JSON")
    assert collecting.values() == []


def test_wrong_or_missing_signature_is_refused(collecting: CollectorApp) -> None:
    body = json.dumps(ORDER).encode()
    signed = shopify(body, SECRET, "orders/create", "w1", "e1")
    without = {name: value for name, value in signed.items() if "Hmac" not in name}
    for headers in (without, shopify(body, "other", "orders/create", "w1", "e1")):
        answer = collecting.client.post("/v1/webhooks/shop", content=body, headers=headers)
        assert answer.status_code == 401
    assert collecting.values() == []
