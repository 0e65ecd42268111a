"""The live page in Chromium: figures as they change, and what it shows without a network."""

import re
import runpy
import urllib.request
from collections.abc import Iterator
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

_MOST_BYTES = 21_000
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
def between(server: ApiProcess) -> Iterator[Network]:
    with network(server.port) as between:
        yield between


def open_page(browser: BrowserContext, between: Network, shop: LiveShop) -> Page:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"http://127.0.0.1:{between.port}/live")
    shows(page, shop)
    own = f"http://127.0.0.1:{between.port}/"
    assert [url for url in asked if not url.startswith((own, "data:"))] == [], "it is one file"
    assert sum("/v1/changes" in url for url in asked) == 1
    page.evaluate("window.isTheSamePage = true")
    return page


def shows(page: Page, shop: LiveShop) -> None:
    """The page has the shop's figures, and says that they are live."""
    for name, text in shop.shown.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.locator("#notice")).to_be_empty()
    rows = page.locator("#channels tr").all_inner_texts()
    by_channel = {row.split("\t")[0].strip(): row.split("\t")[-1] for row in rows}
    assert by_channel == {name: f"€{value:,.2f}" for name, value in shop.by_channel.items()}


def is_marked_stale(page: Page) -> None:
    expect(page.locator("#state")).to_have_text("Stale")
    expect(page.locator("#notice")).to_contain_text("These figures are as of")
    expect(page).to_have_title(re.compile("Stale"))


def is_not_reloaded(page: Page) -> None:
    assert page.evaluate("window.isTheSamePage") is True


def test_figures_follow_the_tables(browser: BrowserContext, between: Network, shop: LiveShop) -> None:
    page = open_page(browser, between, shop)
    expect(page.locator("#latest tr")).to_have_count(7)
    expect(page.locator("#asof")).to_have_text(re.compile(r"^As of \d\d:\d\d:\d\d, \d+ s ago$"))
    expect(page.locator("#events")).to_have_text("Events up to 08:07")
    expect(page.locator("#minutes rect")).to_have_count(7)
    shop.sell(2, "1234.50")
    shows(page, shop)
    expect(page.locator("#latest tr").first).to_contain_text("€1,234.50")
    is_not_reloaded(page)


def test_a_cut_network_marks_the_page_and_it_resumes_by_position(
    browser: BrowserContext, between: Network, shop: LiveShop
) -> None:
    """It gets no snapshot."""
    page = open_page(browser, between, shop)
    before = dict(shop.shown)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    between.cut()
    is_marked_stale(page)
    shop.sell(5)
    for name, text in before.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    page.evaluate('rows.set(\'{"part":"minute"}\', 1)')  # a snapshot would remove it
    between.mend()
    for name, text in shop.shown.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    resumed = [parse_qs(urlsplit(url).query)["after"][0] for url in asked if "/v1/changes" in url]
    assert resumed
    assert all(re.fullmatch("[0-9a-f]{8}~gold.attribution:.*", position) for position in resumed)
    assert page.evaluate('rows.has(\'{"part":"minute"}\')') is True
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.locator("#notice")).to_be_empty()
    is_not_reloaded(page)


def test_a_silent_network_marks_the_page_after_half_a_minute(
    browser: BrowserContext, between: Network, shop: LiveShop
) -> None:
    page = browser.new_page()
    page.clock.install()
    page.goto(f"http://127.0.0.1:{between.port}/live")
    shows(page, shop)
    between.hang()
    page.clock.fast_forward(_STALE_MILLISECONDS - 2000)
    expect(page.locator("#state")).to_have_text("Live")
    page.clock.fast_forward(2000)
    is_marked_stale(page)
    shop.sell(3)
    between.mend()
    page.clock.run_for(10_000)
    shows(page, shop)


@pytest.mark.long
def test_a_killed_server_marks_the_page_and_a_new_one_goes_on(
    browser: BrowserContext, between: Network, shop: LiveShop, server: ApiProcess
) -> None:
    page = open_page(browser, between, shop)
    server.kill()
    is_marked_stale(page)
    shop.sell(4)
    server.start()
    shows(page, shop)
    is_not_reloaded(page)


def test_tables_made_again_replace_all_rows(
    browser: BrowserContext, between: Network, shop: LiveShop, server: ApiProcess
) -> None:
    page = open_page(browser, between, shop)
    server.kill()
    is_marked_stale(page)
    (shop.home / "warehouse" / "gold").rename(shop.home / "gone")
    shop.orders.clear()
    shop.sell(2)
    server.start()
    shows(page, shop)
    expect(page.locator("#minutes rect")).to_have_count(2)
    is_not_reloaded(page)


@pytest.mark.long
def test_a_minute_offline_shows_and_heals(browser: BrowserContext, between: Network, shop: LiveShop) -> None:
    page = open_page(browser, between, shop)
    between.hang()  # worse than a cut: nothing says so
    browser.set_offline(True)
    for _ in range(6):
        page.wait_for_timeout(10_000)
        shop.sell(1)
    is_marked_stale(page)
    browser.set_offline(False)
    between.mend()
    shows(page, shop)
    is_not_reloaded(page)


def test_the_page_is_small() -> None:
    assert len(live_page("EUR").encode()) < _MOST_BYTES


def test_its_colours_are_those_of_the_dashboard() -> None:
    palette = runpy.run_path(str(DASHBOARDS / "charts" / "palette.py"))
    text = live_page("EUR")
    for theme, name in (("LIGHT", "CHANNELS"), ("DARK", "DARK")):
        block = text.split(f"const {name} = {{")[1].split("};")[0]
        found = dict(re.findall(r'"([^"]+)": "(#\w{6})"', block))
        assert found == dict(zip(palette["CHANNELS"], palette[theme].channels, strict=True))
        assert palette[theme].events.lower() in text
        assert palette[theme].conversions.lower() in text


def test_money_is_in_the_reporting_currency() -> None:
    assert '<meta name="currency" content="CHF">' in live_page("CHF")


def test_it_may_load_nothing_from_elsewhere(server: ApiProcess) -> None:
    with urllib.request.urlopen(f"{server.url}/live", timeout=5) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'self'" in policy
