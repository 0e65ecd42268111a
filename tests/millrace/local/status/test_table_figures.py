"""Figures of repeated views: computed again for the tables that have changed, and for these alone."""

import io
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from rich.console import Console

from kit.warehouse_builder import append_rows
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.run.rules_version import read_rule_texts, rules_version
from lakehouse.settings import load_settings
from lakehouse.timestamps import to_micros
from millrace.local.status.render import render
from millrace.local.status.snapshot import take_snapshot
from millrace.local.status.table_figures import TableFigures
from millrace.tables import table_reader

SPANS = ["silver.impressions", "gold.touches", "gold.conversions", "gold.attribution", "gold.trails"]
"""The first tables that follow `impression_span`."""


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rules of a copied bundle, which a test may change."""
    root, copy = bundle_root(), tmp_path / "bundle"
    assert root is not None
    shutil.copytree(root / "conf", copy / "conf")
    shutil.copy(root / BUNDLE_FILE, copy)
    monkeypatch.chdir(copy)
    return copy / "conf"


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


def test_tables_of_other_rules_are_named_until_all_are_rebuilt(tmp_path: Path, conf: Path) -> None:
    home, started = tmp_path / "home", datetime.now(timezone.utc)
    follow(home, conf, started)
    for name in ("bronze.kafka_records", "silver.events", *SPANS, "gold.traffic"):
        append_rows(home, name, [{}])
    settings = load_settings(home=home)
    figures = TableFigures(settings)
    assert named(figures) == []
    change(conf, "impression_span: PT30M", "impression_span: PT5M")
    due = named(figures)
    assert due[: len(SPANS)] == SPANS
    assert "gold.promotion_performance" in due
    assert not {"silver.events", "silver.sessions", "gold.bot_refunds"} & set(due)
    changed = started + timedelta(days=1)
    follow(home, conf, changed)
    assert named(figures) == due
    part, rest = due[:2], due[2:]
    for number, name in enumerate(part):
        rebuild(home, conf, name, changed + timedelta(seconds=number))
    assert named(figures) == rest
    note = next(each for each in take_snapshot(settings, lag=False).notes if "rebuild" in each)
    assert f"`millrace rebuild {' '.join(rest)}`" in note
    for number, name in enumerate(rest, len(part)):
        rebuild(home, conf, name, changed + timedelta(seconds=number))
    assert named(figures) == []
    change(conf, "1 day: {size: P1D}", "1 day: {size: P1D}\n2 hours: {size: PT2H}", "windows.yml")
    assert named(figures) == ["gold.traffic"]


def named(figures: TableFigures) -> list[str]:
    return figures.tables_of_other_rules()


def change(conf: Path, old: str, new: str, name: str = "rules.yml") -> None:
    text = (conf / name).read_text()
    assert old in text
    (conf / name).write_text(text.replace(old, new))


def follow(home: Path, conf: Path, at: datetime) -> None:
    """Record that jobs follow the rules of conf/."""
    version, texts = rules_version(conf), read_rule_texts(conf)
    shown = {"rules_version": version, "first_seen_at": at}
    append_rows(home, "ops.rules", [{**shown, "file": file, "text": text} for file, text in texts.items()])


def rebuild(home: Path, conf: Path, name: str, after: datetime) -> None:
    """Record that a table was rebuilt in a second by the rules of conf/."""
    row = {"rules_version": rules_version(conf), "table": name, "after": after}
    append_rows(home, "ops.rule_uses", [{**row, "used_at": after + timedelta(seconds=1)}])
