"""Days on the pages are those of the business time zone."""

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import data_source
import pytest

from kit.shown import metrics
from kit.warehouse_builder import append_rows

LAST = datetime(2026, 2, 28, 23, 59, tzinfo=timezone.utc)
FIRST = LAST - timedelta(days=4, hours=14)  # 24 February 9:59
ENDS = {
    "UTC": (date(2026, 2, 24), date(2026, 2, 28)),
    "Pacific/Kiritimati": (date(2026, 2, 24), date(2026, 3, 1)),
    "Pacific/Pago_Pago": (date(2026, 2, 23), date(2026, 2, 28)),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    windows = [
        {"window_kind": kind, "window_start": at, "window_end": at + length, "events": 1}
        for at in (FIRST, LAST)
        for kind, length in (("1 minute", timedelta(minutes=1)), ("1 day", timedelta(days=1)))
    ]
    append_rows(tmp_path, "gold.traffic", windows)
    append_rows(tmp_path, "gold.persons", [{"cohort_week": date(2026, 2, 16), "value_7": 1, "returns_7": 1}])
    return tmp_path


@pytest.mark.parametrize("zone", ENDS)
def test_dates_to_choose_are_business_days_with_events(
    zone: str, home: Path, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_source, "ZONE", zone)
    first, last = open_page(home, "overview", period="Dates").date_input
    assert {(each.min, each.max) for each in (first, last)} == {ENDS[zone]}
    assert (first.value, last.value) == ENDS[zone]


@pytest.mark.parametrize(("zone", "share"), [("Pacific/Kiritimati", "100.0%"), ("UTC", "–")])
def test_cohort_is_as_old_as_on_the_last_business_day(
    zone: str, share: str, home: Path, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_source, "ZONE", zone)
    assert metrics(open_page(home, "cohorts"))["Back within 7 days"] == share


def test_disabled_channel_filter_is_not_applied_on_campaigns(open_page: Any, shop_home: Path) -> None:
    page = open_page(shop_home, "campaigns", period="All", channel="Email", by="Channel")
    assert page.multiselect(key="channel").disabled
    performance, _, credit = (table.value for table in page.dataframe)
    assert set(credit["channel"]) > {"Email"}
    assert credit["conversions"].sum() == pytest.approx(performance["conversions"].sum(), abs=0.1)


def test_channel_chosen_on_overview_applies_again_after_campaigns(open_page: Any, shop_home: Path) -> None:
    page = open_page(shop_home, "overview", period="All")
    page.multiselect(key="channel").select("Email").run()
    events = metrics(page)["Events"]
    page.switch_page("views/campaigns.py").run()
    assert set(page.dataframe[2].value["campaign"]) > {"no campaign · Direct"}
    page.switch_page("views/overview.py").run()
    assert metrics(page)["Events"] == events


def test_latest_conversions_to_choose_from_are_of_any_time(open_page: Any, shop_home: Path, sql: Any) -> None:
    [(conversions,)] = sql("SELECT count(*) FROM gold.conversions")
    page = open_page(shop_home, "conversion")
    assert len(page.dataframe[0].value) == min(50, conversions)
