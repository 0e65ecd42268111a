"""The pages in a real browser, served by a real Streamlit process."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kit.browsing import Browsing, browsing
from kit.dashboards_folder import VIEWS
from kit.serving import served
from kit.shop_warehouse import Shop
from kit.warehouse_builder import append_rows, build_warehouse

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror='window.owned = true'>"


@pytest.fixture(scope="module")
def living_home(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop, to be written to; one of its campaigns is an enemy's."""
    home = tmp_path_factory.mktemp("living")
    tables = dict(shop.tables)
    tables["gold.attribution"] = [
        {**row, "campaign_name": HOSTILE if row["channel"] == "Direct" else row["campaign_name"]}
        for row in tables["gold.attribution"]
    ]
    build_warehouse(home, tables)
    return home


@pytest.fixture(scope="module")
def web(living_home: Path) -> Iterator[Browsing]:
    """One browser and one server for all tests."""
    with served(living_home) as address, browsing(address) as browser:
        yield browser


@pytest.mark.parametrize("view", VIEWS)
def test_each_page_opens_and_asks_no_other_host(view: str, web: Browsing) -> None:
    page = web.open(view, period="All")
    expect(page.get_by_text("All times are UTC.")).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts.locator("svg.marks")).to_have_count(charts.count())
    assert web.elsewhere == []


def test_overview_follows_gold_without_a_reload(web: Browsing, living_home: Path, shop: Shop) -> None:
    page = web.open("overview", period="All")
    minutes = [
        row
        for row in shop.tables["gold.traffic"]
        if row["window_kind"] == "1 hour" and row["channel"] is None
    ]
    counted = sum(row["events"] for row in minutes)
    expect(web.metric("Events")).to_have_text(f"{counted:,}")
    charts = page.locator("[data-testid=stVegaLiteChart] svg.marks")
    expect(charts).to_have_count(3)
    page.evaluate("window.loadedOnce = true")
    charts.first.evaluate("drawing => { drawing.drawnOnce = true }")
    last = max(minutes, key=lambda row: row["window_start"])
    append_rows(living_home, "gold.traffic", [{**last, "channel": None, "events": 77}])
    expect(web.metric("Events")).to_have_text(f"{counted + 77:,}")
    assert page.evaluate("window.loadedOnce"), "the page was loaded again"
    assert charts.first.evaluate("drawing => drawing.drawnOnce"), "a chart was torn down to be refreshed"


def test_a_filter_is_in_the_address_and_goes_along_to_other_pages(web: Browsing) -> None:
    page = web.open("overview")
    figure = web.metric("Events").text_content() or ""
    page.get_by_text("Last hour", exact=True).click()
    expect(web.metric("Events")).not_to_have_text(figure)
    assert "period=Last" in page.url
    web.go_to("Journeys")
    expect(page.get_by_role("radio", name="Last hour")).to_be_checked()
    page.get_by_text("All", exact=True).first.click()
    expect(web.metric("Conversions")).not_to_have_text("0")
    assert "period=All" in page.url


def test_a_conversion_is_opened_from_attribution_and_its_credits_sum_to_one(web: Browsing) -> None:
    page = web.open("attribution", period="All")
    web.choose_first_row("Conversions behind it")
    page.get_by_text("Why? Open this conversion").click()
    expect(page.get_by_role("heading", name="Conversion", exact=True)).to_be_visible()
    expect(page.get_by_text("Credits of each model sum to 1.")).to_be_visible()
    assert "conversion=" in page.url
    web.go_to("Attribution")
    expect(page.get_by_role("radio", name="All", exact=True)).to_be_checked()


def test_a_conversion_is_chosen_from_the_latest(web: Browsing) -> None:
    page = web.open("conversion")
    web.choose_first_row("The latest ones")
    expect(page.get_by_text("Credits of each model sum to 1.")).to_be_visible()
    assert "conversion=" in page.url


def test_a_campaigns_name_is_no_html(web: Browsing) -> None:
    page = web.open("attribution", period="All", by="Campaign")
    credit = page.locator("[data-testid=stVegaLiteChart] svg.marks").first
    expect(credit.get_by_text(HOSTILE[:12])).to_be_visible()
    credit.locator("path[aria-roledescription=bar]").first.hover()
    expect(page.locator("#vg-tooltip-element")).to_be_visible()
    assert not page.evaluate("window.owned"), "a campaign's name was taken as HTML"


def test_a_table_is_downloaded_whole(web: Browsing, shop: Shop) -> None:
    page = web.open("attribution", period="All")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").first.click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    channels = {row["channel"] for row in shop.tables["gold.attribution"]}
    assert download.value.suggested_filename == "millrace-credit.csv"
    assert {line.split(",")[0] for line in lines[1:]} == channels


def test_pages_work_by_keyboard(web: Browsing) -> None:
    page: Page = web.open("overview", period="All")
    page.get_by_role("radio", name="All", exact=True).focus()
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.getAttribute('role') || document.activeElement.tagName")
    assert focused.lower() in ("combobox", "input", "radio", "button")


def test_the_watermark_is_told_to_the_second(web: Browsing, shop: Shop) -> None:
    page = web.open("pipeline")
    assert shop.watermark <= shop.until + timedelta(seconds=1)
    expect(page.get_by_text(f"{shop.watermark:%Y-%m-%d %H:%M:%S} UTC").first).to_be_visible()


def test_small_shares_of_late_rows_differ_on_the_axis(web: Browsing, living_home: Path, shop: Shop) -> None:
    last = max(shop.tables["ops.ledger"], key=lambda row: row["started_at"])
    few = [
        {**last, "job": "refine", "input_rows": 1_000_000, "late": late}
        | {"batch_id": 10_000 + late, "started_at": last["started_at"] + timedelta(days=1, minutes=late)}
        for late in range(1, 5)
    ]
    append_rows(living_home, "ops.ledger", few)
    page = web.open("pipeline", over="Last hour")
    axis = page.get_by_test_id("stVegaLiteChart").nth(1).locator("g.role-axis-label text", has_text="%")
    expect(axis.nth(2)).to_be_visible()
    labels = axis.all_text_contents()
    assert len(set(labels)) == len(labels), labels
