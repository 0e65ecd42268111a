"""`millrace orders`: orders of gold.order_comparisons that differ, and how many were compared."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from kit.warehouse_builder import build_warehouse
from lakehouse.settings import load_settings
from millrace.tables.order_differences import order_report


def compared(order_id: str, difference: str | None, is_older: bool = False) -> dict[str, Any]:
    money = {"value": Decimal(10), "currency": "EUR", "shop_value": Decimal(9), "shop_currency": "EUR"}
    return {"order_id": order_id, "difference": difference, "events": 1, "is_older": is_older, **money}


def test_orders_that_differ_are_listed_and_older_ones_counted(tmp_path: Path) -> None:
    rows = [
        compared("same", None),
        compared("web-only", "not in the shop"),
        compared("cheaper", "other value"),
        compared("old", None, is_older=True),
    ]
    build_warehouse(tmp_path, {"gold.order_comparisons": rows})
    report = order_report(load_settings(home=tmp_path))
    assert report is not None
    assert (report.compared, report.older) == (3, 1)
    assert report.different.select("order_id", "difference").rows() == [
        ("web-only", "not in the shop"),
        ("cheaper", "other value"),
    ]


def test_nothing_is_compared_before_the_first_order_of_the_shop(tmp_path: Path) -> None:
    build_warehouse(tmp_path, {"gold.order_comparisons": []})
    assert order_report(load_settings(home=tmp_path)) is None
