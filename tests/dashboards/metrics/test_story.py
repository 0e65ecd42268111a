"""The pages and the command line explain a conversion identically."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from metrics.story import explain, find
from tables.delta_backend import LocalTables
from tables.table_cache import Lake, Look

from kit.asking import Sql
from kit.warehouse_builder import append_rows
from lakehouse.settings import load_settings
from millrace.explain.conversion import explain_conversion

MINUTE = timedelta(minutes=1)


def test_pages_and_command_line_explain_conversions_identically(shop_home: Path, sql: Sql) -> None:
    look = Lake(LocalTables(shop_home / "warehouse")).look()
    settings = load_settings(home=shop_home)
    reported = [
        explained_by_both(look, settings, conversion_id) for conversion_id in interesting_conversions(sql)
    ]
    assert len(reported) > 9
    ours = [page for page, _ in reported]
    assert any(page.anchor is not page.conversion for page in ours), "no refund of an order among them"
    assert any(page.rate for page in ours), "none in another currency among them"
    for page, command in reported:
        assert row_matches(page.conversion, command.conversion)
        assert page.anchor["conversion_id"] == command.anchor["conversion_id"]
        assert rows_match(page.trail, command.trail)
        assert page.credits.keys() == command.credits.keys()
        for model, rows in page.credits.items():
            assert rows_match(rows, command.credits[model]), model
        assert page.kinds == {name: touch["kind"] for name, touch in command.touches.items()}
        assert (page.rate is None) == (command.rate is None)
        assert page.rate is None or row_matches(page.rate, command.rate)


def test_pages_and_command_line_find_conversion_by_same_ids(shop_home: Path, sql: Sql) -> None:
    look = Lake(LocalTables(shop_home / "warehouse")).look()
    settings = load_settings(home=shop_home)
    query = "SELECT conversion_id, event_id FROM gold.conversions ORDER BY converted_at LIMIT 3"
    for conversion_id, event_id in sql(query):
        for wanted in (conversion_id, conversion_id[:10], event_id):
            (found,) = look.figure(find, wanted)
            assert found["conversion_id"] == explain_conversion(settings, wanted).conversion["conversion_id"]


def test_exact_order_is_found_rather_than_ids_that_begin_with_it(tmp_path: Path) -> None:
    at = datetime(2026, 3, 1, tzinfo=timezone.utc)
    conversions = [
        {"conversion_id": f"1001{letter}", "order_id": f"5{letter}", "converted_at": at} for letter in "abcde"
    ]
    order = {"conversion_id": "f", "order_id": "1001", "goal": "Order Completed", "converted_at": at + MINUTE}
    append_rows(tmp_path, "gold.conversions", [*conversions, order])
    look = Lake(LocalTables(tmp_path / "warehouse")).look()
    assert [row["conversion_id"] for row in look.figure(find, "1001")] == ["f"]
    assert len(look.figure(find, "100")) == 5
    explained = explain_conversion(load_settings(home=tmp_path), "1001")
    assert explained.conversion["conversion_id"] == "f"


def interesting_conversions(sql: Sql) -> list[str]:
    """Refunds, conversions in other currencies, and those with the most touches and with none."""
    parts = (
        "goal = 'Order Refunded' ORDER BY conversion_id",
        "currency <> 'EUR' ORDER BY conversion_id",
        "true ORDER BY touches DESC, conversion_id",
        "true ORDER BY touches, conversion_id",
    )
    query = "SELECT conversion_id FROM gold.conversions WHERE {} LIMIT 4"
    return sorted({row[0] for part in parts for row in sql(query.format(part))})


def explained_by_both(look: Look, settings: Any, conversion_id: str) -> tuple[Any, Any]:
    page = look.figure(explain, conversion_id)
    assert page is not None
    return page, explain_conversion(settings, conversion_id)


def rows_match(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> bool:
    return all(row_matches(*pair) for pair in zip(ours, theirs, strict=True))


def row_matches(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether every value in the row of the pages equals that of the command line."""
    return {name: theirs[name] for name in ours} == ours
