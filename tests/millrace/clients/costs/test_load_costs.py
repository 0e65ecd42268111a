"""`millrace load --format costs` against a real broker: each row once, or nothing at all."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kit.sending import in_topic, told_by
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.cli import app, register_commands
from millrace.clients.costs.load_costs import load_costs

FILE = "Day,Campaign,Currency,Cost\n2026-03-01,brand,EUR,12.50\n2026-03-01,sale,EUR,3\nTotal,,,15.50\n"

if not app.registered_commands:
    register_commands()


def test_each_row_is_a_record_of_the_topic_of_costs(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "google.csv"
    file.write_text(FILE)
    loaded = load_costs(settings, str(file), "shop")
    arrived = in_topic(settings.model_copy(update={"events_topic": settings.campaign_costs_topic}))
    found = sorted((json.loads(each.value) for each in arrived), key=lambda body: body["load_row"])
    assert [(body["campaign_name"], body["cost"], body["load_rows"]) for body in found] == [
        ("brand", "12.50", 2),
        ("sale", "3.0", 2),
    ]
    assert {each.key for each in arrived} == {b"google-ads/shop/2026-03-01"}
    manifest = told_by(loaded.manifest.path)
    assert (manifest["topic"], manifest["records"]) == (settings.campaign_costs_topic, 2)
    assert manifest["status"] == "complete"


def test_file_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", kafka_bootstrap="127.0.0.1:1")
    file = tmp_path / "google.csv"
    file.write_text(FILE.replace("12.50", "twelve"))
    with pytest.raises(MillraceError, match="line 2"):
        load_costs(settings, str(file), None)
    assert not (tmp_path / "home").exists()


def test_check_shows_what_would_be_sent(tmp_path: Path) -> None:
    file = tmp_path / "google.csv"
    file.write_text(FILE)
    shown = CliRunner().invoke(app, ["load", str(file), "--format", "costs", "--check"]).output
    assert shown == (
        "google-ads, account default, 2026-03-01 (1 days), 2 rows, 15.50 EUR; 1 totals left out\n"
    )
    found = json.loads(
        CliRunner().invoke(app, ["load", str(file), "--format", "costs", "--check", "--json"]).output
    )
    assert (found["rows"], found["cost"], found["left_out"]) == (2, {"EUR": "15.50"}, 1)
