"""Page Data quality: what events of the period lack, with an empty state, an example to open, and roles."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from kit.access import write_policy
from kit.shop_warehouse import Shop
from kit.shown import said
from kit.warehouse_builder import build_warehouse
from millrace.explain.gap_kinds import KINDS, REASONS

ROLES = """
roles:
  analyst:
    tables: ["gold.*", silver.events, silver.sessions]
    mask: {visitor_id: hash, event_id: hash}
"""


@pytest.fixture
def home(shop: Shop, tmp_path: Path) -> Path:
    """A home with one order that has no value and one refused record, each in the last hour of four days."""
    at = shop.until - timedelta(minutes=30)
    order = next(row for row in shop.tables["silver.events"] if row["goal"] == "Order Completed")
    lacking = {**order, "event_id": "<b>1</b>", "value": None, "unread_value": "*much*", "event_time": at}
    timeless = {**order, "event_id": "2", "time_source": "arrival", "device_time": None, "event_time": at}
    tables = {
        "gold.traffic": shop.tables["gold.traffic"],
        "silver.events": [order, timeless, lacking],
        "silver.rejected_events": [{**shop.tables["silver.rejected_events"][0], "arrival_time": at}],
    }
    build_warehouse(tmp_path, tables)
    return tmp_path


def shown(page: AppTest) -> pd.DataFrame:
    (table,) = [element.value for element in page.dataframe if "advice" in element.value]
    return table


def test_gaps_are_listed_with_share_example_and_advice(open_page: Any, shop: Shop, home: Path) -> None:
    page = open_page(home, "quality", period="Last hour")
    reason = shop.tables["silver.rejected_events"][0]["reason"]
    table = shown(page)
    assert list(table["what"]) == [
        KINDS["unreadable_value"].what,
        f"records refused: {reason}",
        KINDS["no_time"].what,
    ]
    assert list(table["count"]) == [1, 1, 1]
    assert list(table["share"].round(3)) == [0.5, 0.333, 0.5]
    advice = [KINDS["unreadable_value"].advice, REASONS[reason], KINDS["no_time"].advice]
    assert list(table["advice"]) == [text.replace("`", "") for text in advice]
    assert list(table["example"][::2]) == ["<b>1</b>", "2"]
    assert table["sent"][0] == "*much*"
    assert {str(day)[:10] for day in table["latest"]} == {str(shop.until.date())}
    assert "Counted by millrace load FILE --check only: events with a placeholder for an id;" in said(page)
    assert "Not looked for" not in said(page)


def test_page_says_that_nothing_is_missing(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    events = [row for row in shop.tables["silver.events"] if row["role"] == "page_view"][:1]
    build_warehouse(tmp_path, {"gold.traffic": shop.tables["gold.traffic"], "silver.events": events})
    page = open_page(tmp_path, "quality", period="All")
    assert "Nothing is missing" in said(page)
    assert not [element for element in page.dataframe if "advice" in element.value]


def test_kinds_that_a_role_does_not_see_are_named(
    open_page: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(tmp_path, ROLES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILLRACE_ROLE", "analyst")
    page = open_page(home, "quality", period="Last hour")
    table = shown(page)
    assert list(table["what"]) == [KINDS["no_time"].what]
    assert "2" not in list(table["example"])
    left_out = (
        "unreadable_refund",
        "unreadable_value",
        "no_value",
        "refused",
        "unreadable_link",
        "unknown_user",
    )
    named = "; ".join(KINDS[kind].what for kind in left_out)
    assert f"Not looked for, since this role does not see them: {named}." in said(page)


def test_share_without_consent_is_shown(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    touches, conversions = (shop.tables[name][:4] for name in ("gold.touches", "gold.conversions"))
    refused = {"has_attribution_consent": False}
    tables = {
        "gold.traffic": shop.tables["gold.traffic"],
        "gold.touches": [{**touches[0], **refused}, *touches[1:]],
        "gold.conversions": [
            *({**row, **refused} for row in conversions[:2]),
            {**conversions[2], "has_analytics_consent": False},
            {**conversions[3], "has_analytics_consent": None},
        ],
    }
    build_warehouse(tmp_path, tables)
    page = open_page(tmp_path, "quality", period="All")
    shares = (
        *("25.0% of touches to attribution", "50.0% of conversions to attribution"),
        "25.0% of conversions to analytics",
    )
    assert f"Without consent in this period: {'; '.join(shares)}." in said(page)
