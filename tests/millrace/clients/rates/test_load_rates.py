"""`millrace load --format rates` against a real broker: each rate once, or nothing at all."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folds.records.exchange_rate import parse_rate
from folds.records.outcomes import ExchangeRate, Record
from kit.sending import in_topic, told_by
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.cli import app, register_commands
from millrace.clients.rates.load_rates import load_rates

FILE = "Date,USD,JPY,\n2026-03-02,1.25,160,\n"

if not app.registered_commands:
    register_commands()


def test_each_rate_is_a_record_that_silver_reads(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "eurofxref-hist.csv"
    file.write_text(FILE)
    loaded = load_rates(settings, str(file))
    arrived = in_topic(settings.model_copy(update={"events_topic": settings.exchange_rates_topic}))
    parsed = [parse_rate(Record(each.value, each.timestamp, is_rate=True)) for each in arrived]
    rates = {each.currency: each.rate for each in parsed if isinstance(each, ExchangeRate)}
    assert rates == {"USD": Decimal("0.8"), "JPY": Decimal("0.00625")}
    assert sorted(each.key for each in arrived) == [b"JPY", b"USD"]
    manifest = told_by(loaded.manifest.path)
    assert (manifest["topic"], manifest["records"]) == (settings.exchange_rates_topic, 2)
    assert manifest["status"] == "complete"


def test_file_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", kafka_bootstrap="127.0.0.1:1")
    file = tmp_path / "rates.csv"
    file.write_text(FILE.replace("160", "many"))
    with pytest.raises(MillraceError, match="line 2"):
        load_rates(settings, str(file))
    assert not (tmp_path / "home").exists()


def test_check_shows_what_would_be_sent(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text(FILE)
    shown = CliRunner().invoke(app, ["load", str(file), "--format", "rates", "--check"]).output
    assert shown == (
        "reference rates of the ECB, 2 currencies (JPY, USD), valid from 2026-03-02 00:00 to 2026-03-02 "
        "00:00 UTC, 2 rates\n"
    )
    found = json.loads(
        CliRunner().invoke(app, ["load", str(file), "--format", "rates", "--check", "--json"]).output
    )
    assert (found["rates"], found["currencies"], found["left_out"]) == (2, ["JPY", "USD"], 0)
