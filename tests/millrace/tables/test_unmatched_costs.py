"""Campaigns with costs and no visit, and the nearest campaign of visits."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kit.warehouse_builder import build_warehouse
from lakehouse.settings import load_settings
from millrace.cli import app, register_commands
from millrace.tables.unmatched_costs import cost_report, nearest_campaign

if not app.registered_commands:
    register_commands()

KNOWN = [
    ("google", "cpc", "spring-sale"),
    ("bing", "cpc", "spring-sale"),
    ("newsletter", "email", "Brand"),
    ("google", "cpc", None),
]


def cost(source: str, name: str, amount: str | None, currency: str = "EUR", day: int = 1) -> dict[str, Any]:
    return {
        "platform": "google-ads",
        "account": "shop",
        "day": date(2026, 3, day),
        "campaign_source": source,
        "campaign_medium": "cpc",
        "campaign_name": name,
        "cost": Decimal(amount or 7),
        "currency": currency,
        "reporting_cost": Decimal(amount) if amount else None,
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    names = ("campaign_source", "campaign_medium", "campaign_name")
    visits = [dict(zip(names, each, strict=True)) | {"visits": 3, "model": "last"} for each in KNOWN]
    seen = [{"campaign_source": "google", "campaign_medium": "cpc", "campaign_name": "lamps", "visits": 0}]
    costs = [
        cost("google", "spring-sale", "10"),
        cost("google", "Spring Sale", "3"),
        cost("google", "Spring Sale", "4", day=2),
        cost("google", "brand", "5"),
        cost("google", "lamps", None, "GBP"),
    ]
    build_warehouse(tmp_path, {"silver.campaign_costs": costs, "gold.campaign_performance": visits + seen})
    return tmp_path


def test_nearest_campaign_ignores_case_and_needs_some_likeness() -> None:
    assert nearest_campaign("Spring Sale", KNOWN) == ("bing", "cpc", "spring-sale")
    assert nearest_campaign("BRAND", KNOWN) == ("newsletter", "email", "Brand")
    assert nearest_campaign("qqq", KNOWN) == nearest_campaign("brand", []) == (None, None, None)


def test_report_names_campaigns_without_visits_and_costs_without_rate(home: Path) -> None:
    report = cost_report(load_settings(home=home))
    assert report.campaigns == 4
    columns = ("campaign_name", "days", "reporting_cost", "nearest_source", "nearest_name")
    assert report.unmatched.select(columns).rows() == [
        ("Spring Sale", 2, Decimal(7), "bing", "spring-sale"),
        ("brand", 1, Decimal(5), "newsletter", "Brand"),
        ("lamps", 1, None, None, None),
    ]
    assert report.without_rate.rows() == [("GBP", 1, Decimal(7))]


def test_command_lists_names_and_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(home))
    shown = CliRunner().invoke(app, ["costs"]).output
    assert "1 of 4 campaigns with costs have visits." in shown
    assert "conf/costs.yml" in shown
    assert "7.00 GBP on 1 days have no exchange rate" in shown
    lines = CliRunner().invoke(app, ["costs", "--json"]).output.splitlines()
    assert [json.loads(line)["campaign_name"] for line in lines] == ["Spring Sale", "brand", "lamps"]


def test_home_without_costs_says_how_to_load_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    assert "millrace load FILE --format costs" in CliRunner().invoke(app, ["costs"]).output
