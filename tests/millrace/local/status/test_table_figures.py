"""Figures of repeated views: computed again for the tables that have changed, and for these alone."""

from pathlib import Path

import pytest

from kit.warehouse_builder import append_rows
from lakehouse.settings import load_settings
from millrace.local.status.table_figures import TableFigures
from millrace.tables import table_reader


def test_only_changed_tables_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    open_table = table_reader.open_table

    def noted(settings: object, name: str) -> object:
        opened.append(name)
        return open_table(settings, name)  # type: ignore[arg-type]

    monkeypatch.setattr(table_reader, "open_table", noted)
    append_rows(tmp_path, "gold.funnel", [{"step": "visit", "visitors": 1}])
    append_rows(tmp_path, "gold.touches", [{"touch_id": "t1"}])
    settings = load_settings(home=tmp_path)
    figures = TableFigures(settings)
    assert figures.rows() == table_reader.table_rows(settings)
    first = {name for name in figures.rows() if figures.rows()[name]}
    assert first == {"gold.funnel", "gold.touches"}
    opened.clear()
    assert figures.rows()["gold.funnel"] == 1
    assert opened == []
    append_rows(tmp_path, "gold.funnel", [{"step": "visit", "visitors": 2}])
    assert figures.rows()["gold.funnel"] == 2
    assert opened == ["gold.funnel"]
