"""Days on the pages are those of the business time zone."""

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import data_source
import pytest

from kit.shown import metrics
from kit.warehouse_builder import append_rows

MINUTE = timedelta(minutes=1)
LAST = datetime(2026, 2, 28, 23, 59, tzinfo=timezone.utc)
FIRST = LAST - timedelta(days=4, hours=14)  # 24 February 9:59
ENDS = {
    "UTC": (date(2026, 2, 24), date(2026, 2, 28)),
    "Pacific/Kiritimati": (date(2026, 2, 24), date(2026, 3, 1)),
    "Pacific/Pago_Pago": (date(2026, 2, 23), date(2026, 2, 28)),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return build_home(tmp_path, LAST)


def build_home(home: Path, last: datetime) -> Path:
    """A home with events in two minutes, the last one given, and a person of the week from 16 February."""
    windows = [
        {"window_kind": kind, "window_start": at, "window_end": at + length, "events": 1}
        for at in (FIRST, last)
        for kind, length in (("1 minute", MINUTE), ("1 day", timedelta(days=1)))
    ]
    append_rows(home, "gold.traffic", windows)
    append_rows(home, "gold.persons", [{"cohort_week": date(2026, 2, 16), "value_7": 1, "returns_7": 1}])
    return home


@pytest.mark.parametrize("zone", ENDS)
def test_dates_to_choose_are_business_days_with_events(
    zone: str, home: Path, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_source, "ZONE", zone)
    first, last = open_page(home, "overview", period="Dates").date_input
    assert {(each.min, each.max) for each in (first, last)} == {ENDS[zone]}
    assert (first.value, last.value) == ENDS[zone]


WEEK_IS_OLD = {"UTC": datetime(2026, 3, 2, tzinfo=timezone.utc)}  # when everybody of the week is 7 days old
WEEK_IS_OLD["Pacific/Kiritimati"] = WEEK_IS_OLD["UTC"] - timedelta(hours=14)


@pytest.mark.parametrize("zone", WEEK_IS_OLD)
@pytest.mark.parametrize(("early", "share"), [(MINUTE, "–"), (timedelta(), "100.0%")])
def test_cohort_counts_once_everybody_in_it_is_that_old(
    zone: str, early: timedelta, share: str, tmp_path: Path, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_source, "ZONE", zone)
    build_home(tmp_path, WEEK_IS_OLD[zone] - early - MINUTE)
    assert metrics(open_page(tmp_path, "cohorts"))["Back within 7 days"] == share


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
