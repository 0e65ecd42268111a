"""The Windows page when the change feed of gold.traffic can't be read."""

from pathlib import Path
from typing import Any

import pytest
from schema import CORRECTIONS
from tables.delta_backend import LocalTables
from tables.query import Version
from tables.sql_backend import SqlTables

from kit.shown import metrics, number, said


def test_windows_without_change_feed_show_no_late_event_rate(
    open_page: Any, shop_home: Path, sql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = LocalTables.version

    def without_corrections(tables: LocalTables, table: str, position: int | None = None) -> Version | None:
        return None if table == CORRECTIONS else version(tables, table, position)

    monkeypatch.setattr(LocalTables, "version", without_corrections)
    page = open_page(shop_home, "windows", period="All", window="1 hour")
    late = sql(
        "SELECT window_start, revision, events FROM gold.traffic"
        " WHERE window_kind = '1 hour' AND channel IS NULL AND pane = 'late' ORDER BY window_start DESC"
    )
    shown = page.dataframe[0].value
    assert list(zip(shown["revision"], shown["events"], strict=True)) == [row[1:] for row in late]
    assert number(metrics(page)["Corrected"]) == len(late) > 0
    assert "Late-event rate" not in metrics(page)
    assert "only be read from tables in a folder" in said(page)
    assert "reaches back" not in said(page)


def test_sql_backend_has_no_corrections_and_runs_no_query_for_them() -> None:
    def execute(text: str, values: dict[str, Any]) -> Any:
        raise AssertionError(text)

    assert SqlTables(execute).version(CORRECTIONS) is None
