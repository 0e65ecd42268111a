"""Counts of times and amounts that could not be read, and of orders without a value."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kit.warehouse_builder import append_rows
from lakehouse.contracts import TABLES
from lakehouse.settings import load_settings
from millrace.local.status.snapshot import take_snapshot
from millrace.local.status.table_figures import TableFigures
from millrace.tables import unread_counts

EVENTS: list[dict[str, Any]] = [
    {"event_id": "a", "unread_time": "1 May"},
    {"event_id": "b", "unread_time": "2 May", "unread_value": "6,795"},
    {"event_id": "c"},
]
REFUNDS: list[dict[str, Any]] = [
    {"event_id": "d", "goal": "Order Refunded", "unread_value": "abc"},
    {"event_id": "e", "goal": "Order Refunded", "unread_value": "abc", "value": Decimal(-5)},
    {"event_id": "f", "goal": "Order Refunded"},
    {"event_id": "g", "goal": "Order Completed", "unread_value": "abc"},
    {"event_id": "h", "goal": "Order Cancelled", "unread_value": "abc"},
]
CONVERSIONS: list[dict[str, Any]] = [
    {"conversion_id": "a", "goal": "Order Completed", "value": Decimal(5)},
    {"conversion_id": "b", "goal": "Order Completed"},
    {"conversion_id": "c", "goal": "Order Refunded"},
    {"conversion_id": "d", "goal": "Signed Up"},
]


def test_home_without_tables_has_nothing_unread(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path)
    assert unread_counts.unread_counts(settings) == {"unread_time": 0, "unread_value": 0}
    assert unread_counts.without_value(settings) == unread_counts.unread_refunds(settings) == 0


def test_unread_times_and_amounts_are_counted_from_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_rows(tmp_path, "silver.events", [])
    columns = ",".join(TABLES["silver.events"].stats_columns)
    DeltaTable(tmp_path / "warehouse" / "silver" / "events").alter.set_table_properties(
        {"delta.dataSkippingStatsColumns": columns}
    )
    append_rows(tmp_path, "silver.events", EVENTS)
    append_rows(tmp_path, "silver.events", EVENTS[:1])
    monkeypatch.setattr(unread_counts, "_by_rows", None)
    found = unread_counts.unread_counts(load_settings(home=tmp_path))
    assert found == {"unread_time": 3, "unread_value": 1}


def test_files_without_statistics_are_read(tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.events", EVENTS)
    table = DeltaTable(tmp_path / "warehouse" / "silver" / "events")
    table.alter.set_table_properties({"delta.dataSkippingStatsColumns": "event_id"})
    append_rows(tmp_path, "silver.events", EVENTS[1:])
    settings = load_settings(home=tmp_path)
    assert unread_counts._by_statistics(DeltaTable(table.table_uri), ("unread_time",)) is None
    assert unread_counts.unread_counts(settings) == {"unread_time": 3, "unread_value": 2}


def test_orders_without_value_are_counted_and_refunds_are_not(tmp_path: Path) -> None:
    append_rows(tmp_path, "gold.conversions", CONVERSIONS)
    assert unread_counts.without_value(load_settings(home=tmp_path)) == 1


def test_status_names_refunds_that_count_for_all_that_is_left(tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.events", EVENTS)
    settings = load_settings(home=tmp_path)
    figures = TableFigures(settings)
    assert not [
        note for note in take_snapshot(settings, lag=False, figures=figures).notes if "refund" in note
    ]
    append_rows(tmp_path, "silver.events", REFUNDS)
    assert unread_counts.unread_refunds(settings) == 1
    assert (
        "1 refunds have an amount that could not be read: each counts for all that is left of its order"
        in take_snapshot(settings, lag=False, figures=figures).notes
    )


def test_status_names_what_could_not_be_read(tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.events", EVENTS)
    append_rows(tmp_path, "gold.conversions", CONVERSIONS)
    settings = load_settings(home=tmp_path)
    snapshot = take_snapshot(settings, lag=False, figures=TableFigures(settings))
    assert snapshot.unread == {"unread_time": 2, "unread_value": 1}
    notes = "\n".join(snapshot.notes)
    assert "2 events have a time that could not be read" in notes
    assert "1 events have an amount that could not be read" in notes
    assert "1 orders have no value" in notes
