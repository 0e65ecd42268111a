"""Stripe's webhooks with the sources of docs/webhooks.md: which become orders and refunds, and of how much.

The objects have the fields of the examples in Stripe's reference of its API.
"""

import json
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kit.collector_app import CollectorApp, collector_app
from kit.documented_sources import documented_sources
from kit.signed_webhooks import stripe

SECRET = "whsec_test"
SECRETS = dict.fromkeys(("PAYMENTS_WEBHOOK_SECRET", "SHOP_WEBHOOK_SECRET", "TICKETS_SECRET"), SECRET)
SESSION: dict[str, Any] = {
    "id": "cs_test_a11YYufWQzNY63zpQ6QSNRQhkUpVph4WRmzW0zWJO2znZKdVujZ0N0S22u",
    "object": "checkout.session",
    "amount_subtotal": 2198,
    "amount_total": 2198,
    "client_reference_id": "ada",
    "created": 1679600215,
    "currency": "usd",
    "customer": None,
    "customer_details": {"address": None, "email": "ada@shop.example", "tax_exempt": "none", "tax_ids": None},
    "livemode": False,
    "metadata": {"order_id": "A-1"},
    "mode": "payment",
    "payment_intent": "pi_1GszsK2eZvKYlo2CfhZyoZLp",
    "payment_status": "paid",
    "status": "complete",
    "total_details": {"amount_discount": 0, "amount_shipping": 0, "amount_tax": 0},
    "url": None,
}
REFUND: dict[str, Any] = {
    "id": "re_1Nispe2eZvKYlo2Cd31jOCgZ",
    "object": "refund",
    "amount": 1000,
    "balance_transaction": "txn_1Nispe2eZvKYlo2CYezqFhEx",
    "charge": "ch_1NirD82eZvKYlo2CIvbtLWuY",
    "created": 1692942318,
    "currency": "usd",
    "destination_details": {"card": {"reference_status": "available", "type": "refund"}, "type": "card"},
    "metadata": {"order_id": "A-1"},
    "payment_intent": "pi_1GszsK2eZvKYlo2CfhZyoZLp",
    "reason": None,
    "status": "succeeded",
}


def event(id_: str, type_: str, of: dict[str, Any], **more: Any) -> bytes:
    """A webhook's body: an event with an object."""
    return json.dumps(
        {
            "id": id_,
            "object": "event",
            "api_version": "2025-09-30.clover",
            "created": int(time.time()),
            "data": {"object": {**of, **more}},
            "livemode": False,
            "pending_webhooks": 1,
            "request": {"id": None, "idempotency_key": None},
            "type": type_,
        }
    ).encode()


def completed(id_: str, **more: Any) -> bytes:
    """A completed checkout."""
    return event(id_, "checkout.session.completed", SESSION, **more)


@pytest.fixture
def collecting(tmp_path: Path) -> Iterator[CollectorApp]:
    (sources,) = documented_sources("webhooks")
    with collector_app(tmp_path, sources, SECRETS) as app:
        yield app


def send(app: CollectorApp, body: bytes, before: str = "") -> int:
    """The status of a signed webhook."""
    headers = stripe(body, SECRET, before=before) | {"Content-Type": "application/json; charset=utf-8"}
    return app.client.post("/v1/webhooks/payments", content=body, headers=headers).status_code


def test_paid_checkout_is_an_order_and_bad_signature_is_nothing(collecting: CollectorApp) -> None:
    assert send(collecting, completed("evt_1")) == 200
    assert send(collecting, completed("evt_2"), before="ff") == 401
    (row,) = collecting.rows()
    assert (row["reason"], row["event_id"], row["goal"]) == (None, "payments:evt_1", "Order Completed")
    assert (row["order_id"], row["user_id"]) == ("A-1", "ada")
    assert (row["value"], row["currency"]) == (Decimal("21.98"), "USD")


@pytest.mark.parametrize(
    ("amount", "currency", "value", "text"),
    [
        (500, "jpy", "500", '"total":"500"'),
        (1999, "kwd", "1.999", '"total":"1.999"'),
        (1999, "usd", "19.99", '"total":"19.99"'),
        (500, "isk", "5", '"total":"5.00"'),  # two decimals for backward compatibility
        (500, "ugx", "5", '"total":"5.00"'),
        (500, "mga", "500", '"total":"500"'),  # no decimals, though ISO 4217 has two
        (500, "huf", "5", '"total":"5.00"'),
        (0, "eur", "0", '"total":"0.00"'),
        (99999999, "eur", "999999.99", '"total":"999999.99"'),
    ],
)
def test_amounts_are_exact_in_the_decimals_of_their_currency(
    collecting: CollectorApp, amount: int, currency: str, value: str, text: str
) -> None:
    assert send(collecting, completed("evt_1", amount_total=amount, currency=currency)) == 200
    (row,) = collecting.rows()
    assert (row["value"], row["currency"]) == (Decimal(value), currency.upper())
    assert text.encode() in collecting.values()[0]


def test_event_that_is_sent_again_has_the_same_uid(collecting: CollectorApp) -> None:
    for _ in range(2):
        assert send(collecting, completed("evt_1")) == 200
    assert {row["event_id"] for row in collecting.rows()} == {"payments:evt_1"}


def test_unpaid_checkout_is_no_order_until_its_payment_succeeded(collecting: CollectorApp) -> None:
    of_debit = {"amount_total": 4200, "currency": "eur", "metadata": {"order_id": "sepa"}}
    send(collecting, completed("evt_1", payment_status="unpaid", **of_debit))
    (unpaid,) = collecting.rows()
    assert (unpaid["reason"], unpaid["role"], unpaid["goal"]) == (None, "other", None)
    assert unpaid["name"] == "checkout.session.completed"
    send(collecting, event("evt_2", "checkout.session.async_payment_failed", SESSION, **of_debit))
    send(collecting, event("evt_3", "checkout.session.async_payment_succeeded", SESSION, **of_debit))
    _, failed, paid = collecting.rows()
    assert (failed["role"], failed["name"]) == ("other", "checkout.session.async_payment_failed")
    assert (paid["goal"], paid["order_id"]) == ("Order Completed", "sepa")
    assert (paid["value"], paid["currency"]) == (Decimal("42.00"), "EUR")


@pytest.mark.parametrize(
    ("payment_status", "is_order"),
    [("paid", True), ("no_payment_required", True), ("unpaid", False), ("PAID", False), (None, False)],
)
def test_only_allowed_payment_status_makes_an_order(
    collecting: CollectorApp, payment_status: str | None, is_order: bool
) -> None:
    send(collecting, completed("evt_1", payment_status=payment_status))
    (row,) = collecting.rows()
    assert (row["goal"] == "Order Completed") is is_order


def test_created_refunds_are_refunds_of_their_own_amounts(collecting: CollectorApp) -> None:
    send(collecting, event("evt_1", "refund.created", REFUND))
    send(collecting, event("evt_2", "refund.created", REFUND, id="re_2", amount=1999, currency="kwd"))
    send(collecting, event("evt_3", "refund.updated", REFUND))
    send(collecting, event("evt_4", "charge.refunded", {"id": "ch_1", "amount_refunded": 1000}))
    first, second, updated, charge = collecting.rows()
    assert (first["goal"], first["order_id"]) == ("Order Refunded", "A-1")
    assert (first["refund_id"], first["value"], first["currency"]) == (REFUND["id"], Decimal("-10.00"), "USD")
    assert (second["refund_id"], second["value"], second["currency"]) == ("re_2", Decimal("-1.999"), "KWD")
    assert {(row["role"], row["goal"]) for row in (updated, charge)} == {("other", None)}


@pytest.mark.parametrize("reference", ["undefined", " NULL ", "0", "", None])
def test_order_with_placeholder_as_user_is_an_order_without_user(
    collecting: CollectorApp, reference: str | None
) -> None:
    send(collecting, completed("evt_1", client_reference_id=reference))
    (row,) = collecting.rows()
    assert (row["goal"], row["user_id"]) == ("Order Completed", "payments:evt_1")


def test_refund_without_user_is_an_event_of_a_server(collecting: CollectorApp) -> None:
    send(collecting, event("evt_1", "refund.created", REFUND))
    (sent,) = collecting.events()
    assert (sent["userId"], "anonymousId" in sent) == ("payments:evt_1", False)
