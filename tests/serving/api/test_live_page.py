"""The live page in Chromium updates its figures, and marks them as stale while it gets no data."""

import re
import runpy
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kit.api_process import ApiProcess, api_process
from kit.dashboards_folder import DASHBOARDS
from kit.live_shop import LiveShop
from kit.network import Network, network
from serving.api.live_page import live_page

pytestmark = pytest.mark.browser

_MAX_BYTES = 21_000
_STALE_MILLISECONDS = 31_000


@pytest.fixture
def shop(tmp_path: Path) -> LiveShop:
    found = LiveShop(tmp_path)
    found.sell(7)
    return found


@pytest.fixture
def server(shop: LiveShop) -> Iterator[ApiProcess]:
    with api_process(shop.home) as server:
        yield server


@pytest.fixture
def proxy(server: ApiProcess) -> Iterator[Network]:
    with network(server.port) as proxy:
        yield proxy


def open_page(browser: BrowserContext, proxy: Network, shop: LiveShop) -> Page:
    page = browser.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(f"http://127.0.0.1:{proxy.port}/live")
    expect_live_figures(page, shop)
    own = f"http://127.0.0.1:{proxy.port}/"
    assert [url for url in requested if not url.startswith((own, "data:"))] == [], "it is one file"
    assert sum("/v1/changes" in url for url in requested) == 1
    page.evaluate("window.isTheSamePage = true")
    return page


def expect_live_figures(page: Page, shop: LiveShop) -> None:
    """The page shows the shop's figures and marks them as live."""
    for name, text in shop.shown.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.locator("#notice")).to_be_empty()
    rows = page.locator("#channels tr").all_inner_texts()
    by_channel = {row.split("\t")[0].strip(): row.split("\t")[-1] for row in rows}
    assert by_channel == {name: f"€{value:,.2f}" for name, value in shop.by_channel.items()}


def expect_stale(page: Page) -> None:
    expect(page.locator("#state")).to_have_text("Stale")
    expect(page.locator("#notice")).to_contain_text("These figures are as of")
    expect(page).to_have_title(re.compile("Stale"))


def assert_not_reloaded(page: Page) -> None:
    assert page.evaluate("window.isTheSamePage") is True


def test_figures_update_without_reload_when_tables_change(
    browser: BrowserContext, proxy: Network, shop: LiveShop
) -> None:
    page = open_page(browser, proxy, shop)
    expect(page.locator("#latest tr")).to_have_count(7)
    expect(page.locator("#asof")).to_have_text(re.compile(r"^As of \d\d:\d\d:\d\d, \d+ s ago$"))
    expect(page.locator("#events")).to_have_text("Events up to 08:07")
    expect(page.locator("#minutes rect")).to_have_count(7)
    shop.sell(2, "1234.50")
    expect_live_figures(page, shop)
    expect(page.locator("#latest tr").first).to_contain_text("€1,234.50")
    assert_not_reloaded(page)


def test_day_is_that_of_the_business_time_zone(browser: BrowserContext, tmp_path: Path) -> None:
    zone = "Pacific/Kiritimati"  # 14 hours ahead of UTC
    LiveShop(tmp_path, midnight=datetime(2026, 11, 25, 10, tzinfo=timezone.utc)).sell(1)
    with api_process(tmp_path, MILLRACE_BUSINESS_TIME_ZONE=zone) as server:
        page = browser.new_page()
        page.goto(f"{server.url}/live")
        expect(page.locator("#day")).to_have_text("Thursday 26 November")


def test_page_turns_stale_on_connection_cut_and_resumes_from_position(
    browser: BrowserContext, proxy: Network, shop: LiveShop
) -> None:
    """The resumed stream sends no snapshot."""
    page = open_page(browser, proxy, shop)
    before = dict(shop.shown)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    proxy.cut()
    expect_stale(page)
    shop.sell(5)
    for name, text in before.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    page.evaluate('rows.set(\'{"part":"minute"}\', 1)')  # a snapshot would remove it
    proxy.mend()
    for name, text in shop.shown.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    resumed = [parse_qs(urlsplit(url).query)["after"][0] for url in requested if "/v1/changes" in url]
    assert resumed
    assert all(re.fullmatch("[0-9a-f]{8}~gold.attribution:.*", position) for position in resumed)
    assert page.evaluate('rows.has(\'{"part":"minute"}\')') is True
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.locator("#notice")).to_be_empty()
    assert_not_reloaded(page)


def test_page_turns_stale_after_30_seconds_without_data(
    browser: BrowserContext, proxy: Network, shop: LiveShop
) -> None:
    page = browser.new_page()
    page.clock.install()
    page.goto(f"http://127.0.0.1:{proxy.port}/live")
    expect_live_figures(page, shop)
    proxy.hang()
    page.clock.fast_forward(_STALE_MILLISECONDS - 2000)
    expect(page.locator("#state")).to_have_text("Live")
    page.clock.fast_forward(2000)
    expect_stale(page)
    shop.sell(3)
    proxy.mend()
    page.clock.run_for(10_000)
    expect_live_figures(page, shop)


@pytest.mark.long
def test_page_turns_stale_when_server_dies_and_recovers_on_restart(
    browser: BrowserContext, proxy: Network, shop: LiveShop, server: ApiProcess
) -> None:
    page = open_page(browser, proxy, shop)
    server.kill()
    expect_stale(page)
    shop.sell(4)
    server.start()
    expect_live_figures(page, shop)
    assert_not_reloaded(page)


def test_page_replaces_all_rows_when_tables_are_recreated(
    browser: BrowserContext, proxy: Network, shop: LiveShop, server: ApiProcess
) -> None:
    page = open_page(browser, proxy, shop)
    server.kill()
    expect_stale(page)
    (shop.home / "warehouse" / "gold").rename(shop.home / "gone")
    shop.orders.clear()
    shop.sell(2)
    server.start()
    expect_live_figures(page, shop)
    expect(page.locator("#minutes rect")).to_have_count(2)
    assert_not_reloaded(page)


@pytest.mark.long
def test_page_turns_stale_during_a_minute_offline_and_recovers(
    browser: BrowserContext, proxy: Network, shop: LiveShop
) -> None:
    page = open_page(browser, proxy, shop)
    proxy.hang()  # neither data nor an error arrives, unlike after a cut
    browser.set_offline(True)
    for _ in range(6):
        page.wait_for_timeout(10_000)
        shop.sell(1)
    expect_stale(page)
    browser.set_offline(False)
    proxy.mend()
    expect_live_figures(page, shop)
    assert_not_reloaded(page)


def test_page_size_stays_below_limit() -> None:
    assert len(live_page("EUR", "UTC").encode()) < _MAX_BYTES


def test_page_colours_match_the_dashboard() -> None:
    palette = runpy.run_path(str(DASHBOARDS / "charts" / "palette.py"))
    text = live_page("EUR", "UTC")
    for theme, name in (("LIGHT", "CHANNELS"), ("DARK", "DARK")):
        block = text.split(f"const {name} = {{")[1].split("};")[0]
        found = dict(re.findall(r'"([^"]+)": "(#\w{6})"', block))
        assert found == dict(zip(palette["CHANNELS"], palette[theme].channels, strict=True))
        assert palette[theme].events.lower() in text
        assert palette[theme].conversions.lower() in text


def test_page_declares_reporting_currency_and_business_time_zone() -> None:
    text = live_page("CHF", "Europe/Zurich")
    assert '<meta name="currency" content="CHF">' in text
    assert '<meta name="time-zone" content="Europe/Zurich">' in text


def test_content_security_policy_blocks_external_resources(server: ApiProcess) -> None:
    with urllib.request.urlopen(f"{server.url}/live", timeout=5) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'self'" in policy
