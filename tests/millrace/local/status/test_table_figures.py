"""Figures of repeated views: computed again for the tables that have changed, and for these alone."""

import io
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from rich.console import Console

from kit.warehouse_builder import append_rows
from lakehouse.settings import load_settings
from lakehouse.timestamps import to_micros
from millrace.local.status.render import render
from millrace.local.status.snapshot import take_snapshot
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


def test_stale_table_and_current_one_differ_in_freshness(tmp_path: Path) -> None:
    arrived = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    behind = {"ingest": 0, "refine": 0, "repair": 20, "publish": 1_500}
    positions = {job: arrived - timedelta(seconds=seconds) for job, seconds in behind.items()}
    append_rows(tmp_path, "ops.ledger", [{"job": job, "position": at} for job, at in positions.items()])
    append_rows(tmp_path, "silver.events", [{"event_id": "e"}])
    append_rows(tmp_path, "gold.touches", [{"touch_id": "t"}])
    append_rows(tmp_path, "gold.visitor_minutes", [{}], upto=to_micros(positions["publish"]))
    append_rows(tmp_path, "gold.traffic", [{}], upto=to_micros(arrived - timedelta(seconds=1_560)))
    settings = load_settings(home=tmp_path)
    figures = TableFigures(settings)
    snapshot = take_snapshot(settings, lag=False, figures=figures)
    seconds = snapshot.as_dict()["freshness"]
    assert (seconds["bronze.kafka_records"], seconds["silver.events"]) == (0.0, 0.0)
    assert (seconds["silver.bots"], seconds["gold.touches"]) == (20.0, 1_500.0)
    assert seconds["gold.funnel"] == seconds["gold.traffic"] == 1_560.0
    assert not {"gold.channel_credit", "ops.ledger", "silver.customers"} & seconds.keys()
    text = io.StringIO()
    Console(width=80, file=text).print(render(snapshot))
    lines = {words[0]: words for line in text.getvalue().splitlines() if (words := line.split())}
    assert lines["silver.events"] == ["silver.events", "1", "0", "s"]
    assert lines["gold.touches"] == ["gold.touches", "1", "1,500", "s"]
    append_rows(tmp_path, "gold.traffic", [{}], upto=to_micros(positions["publish"]))
    append_rows(tmp_path, "ops.ledger", [{"job": "publish", "position": arrived}])  # and no row of gold
    assert {figures.freshness()[name] for name in ("gold.touches", "gold.traffic", "gold.funnel")} == {0.0}
