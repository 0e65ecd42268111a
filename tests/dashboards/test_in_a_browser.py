"""The pages in a real browser, served by a real Streamlit process."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kit.browsing import Browsing, browsing
from kit.dashboards_folder import VIEWS
from kit.running_dashboard import served
from kit.shop_warehouse import Shop
from kit.warehouse_builder import append_rows, build_warehouse

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror='window.owned = true'>"


@pytest.fixture(scope="module")
def writable_home(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A writable home of the shop; one campaign name is hostile HTML."""
    home = tmp_path_factory.mktemp("living")
    tables = dict(shop.tables)
    tables["gold.attribution"] = [
        {**row, "campaign_name": HOSTILE if row["channel"] == "Direct" else row["campaign_name"]}
        for row in tables["gold.attribution"]
    ]
    build_warehouse(home, tables)
    return home


@pytest.fixture(scope="module")
def web(writable_home: Path) -> Iterator[Browsing]:
    """One browser and one server for all tests."""
    with served(writable_home) as address, browsing(address) as browser:
        yield browser


@pytest.mark.parametrize("view", VIEWS)
def test_page_opens_and_requests_no_other_host(view: str, web: Browsing) -> None:
    page = web.open(view, period="All")
    expect(page.get_by_text("All times are UTC.")).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts.locator("svg.marks")).to_have_count(charts.count())
    assert web.elsewhere == []


def test_overview_updates_from_gold_without_reload(web: Browsing, writable_home: Path, shop: Shop) -> None:
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
    append_rows(writable_home, "gold.traffic", [{**last, "channel": None, "events": 77}])
    expect(web.metric("Events")).to_have_text(f"{counted + 77:,}")
    assert page.evaluate("window.loadedOnce"), "the page was loaded again"
    assert charts.first.evaluate("drawing => drawing.drawnOnce"), "a chart was torn down to be refreshed"


def test_filter_is_kept_in_url_and_across_pages(web: Browsing) -> None:
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


def test_conversion_opened_from_attribution_has_credits_that_sum_to_one(web: Browsing) -> None:
    page = web.open("attribution", period="All")
    web.choose_first_row("Conversions behind it")
    page.get_by_text("Why? Open this conversion").click()
    expect(page.get_by_role("heading", name="Conversion", exact=True)).to_be_visible()
    expect(page.get_by_text("Credits of each model sum to 1.")).to_be_visible()
    assert "conversion=" in page.url
    web.go_to("Attribution")
    expect(page.get_by_role("radio", name="All", exact=True)).to_be_checked()


def test_conversion_opens_from_list_of_latest(web: Browsing) -> None:
    page = web.open("conversion")
    web.choose_first_row("The latest ones")
    expect(page.get_by_text("Credits of each model sum to 1.")).to_be_visible()
    assert "conversion=" in page.url


def test_campaign_name_is_not_rendered_as_html(web: Browsing) -> None:
    page = web.open("attribution", period="All", by="Campaign")
    credit = page.locator("[data-testid=stVegaLiteChart] svg.marks").first
    expect(credit.get_by_text(HOSTILE[:12])).to_be_visible()
    credit.locator("path[aria-roledescription=bar]").first.hover()
    expect(page.locator("#vg-tooltip-element")).to_be_visible()
    assert not page.evaluate("window.owned"), "a campaign's name was taken as HTML"


def test_csv_download_has_rows_of_every_channel(web: Browsing, shop: Shop) -> None:
    page = web.open("attribution", period="All")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").first.click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    channels = {row["channel"] for row in shop.tables["gold.attribution"]}
    assert download.value.suggested_filename == "millrace-credit.csv"
    assert {line.split(",")[0] for line in lines[1:]} == channels


def test_tab_key_focuses_a_control(web: Browsing) -> None:
    page: Page = web.open("overview", period="All")
    radio = page.get_by_role("radio", name="All", exact=True)
    radio.focus()
    expect(radio).to_be_focused()
    page.keyboard.press("Tab")
    expect(radio).not_to_be_focused()
    focused = page.evaluate("document.activeElement.getAttribute('role') || document.activeElement.tagName")
    assert focused.lower() in ("combobox", "input", "radio", "button")


def test_watermark_is_shown_to_the_second(web: Browsing, shop: Shop) -> None:
    page = web.open("pipeline")
    assert shop.watermark <= shop.until + timedelta(seconds=1)
    expect(page.get_by_text(f"{shop.watermark:%Y-%m-%d %H:%M:%S} UTC").first).to_be_visible()


def test_axis_labels_of_small_late_shares_are_distinct(
    web: Browsing, writable_home: Path, shop: Shop
) -> None:
    last = max(shop.tables["ops.ledger"], key=lambda row: row["started_at"])
    few = [
        {**last, "job": "refine", "input_rows": 1_000_000, "late": late}
        | {"batch_id": 10_000 + late, "started_at": last["started_at"] + timedelta(days=1, minutes=late)}
        for late in range(1, 5)
    ]
    append_rows(writable_home, "ops.ledger", few)
    page = web.open("pipeline", over="Last hour")
    axis = page.get_by_test_id("stVegaLiteChart").nth(1).locator("g.role-axis-label text", has_text="%")
    expect(axis.nth(2)).to_be_visible()
    labels = axis.all_text_contents()
    assert len(set(labels)) == len(labels), labels
