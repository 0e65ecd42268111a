"""Orders of events compared with those of the shop: each kind of difference is named."""

from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kit.warehouse_builder import build_warehouse
from lakehouse.settings import load_settings
from millrace.tables.order_differences import order_report

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def event(uid: str, order: str | None, value: str, currency: str = "EUR", **more: Any) -> dict[str, Any]:
    goal = {"goal": "Order Completed", "event_time": NOON, "currency": currency, **more}
    return {"event_id": uid, "order_id": order, "value": Decimal(value), **goal}


def order(order_id: str, value: str, valid_from: datetime | None = NOON, **more: Any) -> dict[str, Any]:
    row = {"order_id": order_id, "value": Decimal(value), "currency": "EUR", "valid_from": valid_from}
    return {"version_id": f"{order_id}-{value}", "changed_at": NOON, **row, **more}


EVENTS = [
    event("a", "same", "10"),
    event("b", "twice", "10"),
    event("c", "twice", "10"),
    event("d", "web-only", "10"),
    event("e", "cheaper", "9.9"),
    event("f", "dollars", "10", "USD"),
    event("g", None, "10"),
    event("h", "refunded", "10", goal="Order Refunded"),
]
ORDERS = [
    *(order(name, "10") for name in ("same", "twice", "cheaper", "dollars", "shop-only")),
    order("same", "8", valid_to=NOON),  # an earlier version
    order("old", "10", None),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    build_warehouse(tmp_path, {"silver.events": EVENTS, "silver.orders": ORDERS})
    return tmp_path


def test_each_difference_is_named(home: Path) -> None:
    report = order_report(load_settings(home=home))
    assert report is not None
    assert (report.compared, report.older) == (6, 1)
    assert dict(report.different.select("order_id", "difference").iter_rows()) == {
        "twice": "several events",
        "web-only": "not in the shop",
        "cheaper": "other value",
        "dollars": "other currency",
        "shop-only": "no event",
    }


def test_nothing_is_compared_before_the_first_order_of_the_shop(tmp_path: Path) -> None:
    build_warehouse(tmp_path, {"silver.events": EVENTS})
    assert order_report(load_settings(home=tmp_path)) is None
