"""Orders of a shop's database for the orders of some events, a few of which differ."""

from collections.abc import Sequence
from decimal import Decimal

from kit.oracle_wire import Fields

_HOUR = 3_600_000_000


def sample_orders(events: Sequence[Fields]) -> list[Fields]:
    """Rows of silver.orders: of ten orders one is missing, one has another value, one no event."""
    sent = {event["order_id"]: event for event in events if event["goal"] == "Order Completed"}
    found = []
    for number, (name, event) in enumerate(sorted(sent.items(), key=lambda each: each[1]["event_time"])):
        if number % 10 != 3:
            found.append(_version(name, event, event["value"] + (number % 10 == 5)))
        if number % 10 == 7:
            found.append(_version(f"{name}-phone", event, Decimal("19.9000")))
    return found


def _version(name: str, event: Fields, value: Decimal) -> Fields:
    at = event["event_time"] + _HOUR // 60
    return {
        "version_id": f"version-{name}",
        "order_id": name,
        "customer_id": event["user_id"],
        "status": "paid",
        "value": value,
        "currency": event["currency"],
        "valid_from": at,
        "valid_to": None,
        "changed_at": at,
        "row": "{}",
        "source": "shop",
        "source_table": "public.orders",
        "row_key": f'{{"id":"{name}"}}',
        "lsn": at,
    }
