"""The page in a real browser, served by a real Streamlit process."""

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from kit.browser import FLAGS, chromium
from kit.dashboards_folder import DASHBOARDS
from kit.polling import eventually
from kit.sample_warehouse import Sample, ledger_rows, sample_warehouse, traffic_row
from kit.warehouse_builder import append_rows, build_warehouse

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror='window.owned = true'>"
DEADLINE = 30  # seconds


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    now = datetime.now(timezone.utc)
    sample = sample_warehouse(now, hours=8, visits=300)
    for row in sample.tables["gold.attribution"]:
        row["campaign_name"] = HOSTILE
    build_warehouse(tmp_path, {**sample.tables, "ops.ledger": ledger_rows(now, sample.watermark)})
    return sample


@pytest.fixture
def address(tmp_path: Path, sample: Sample) -> Iterator[str]:
    """Where the page is served, over the sample."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(DASHBOARDS / "app.py")]
    options = {"server.headless": "true", "server.address": "127.0.0.1", "server.port": str(port)}
    environment = {**os.environ, "MILLRACE_HOME": str(tmp_path)}
    environment.pop("MILLRACE_REPORTING_CURRENCY", None)
    with (tmp_path / "streamlit.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *(part for name, value in options.items() for part in (f"--{name}", value))],
            cwd=DASHBOARDS.parent,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            health = f"http://127.0.0.1:{port}/_stcore/health"
            eventually(lambda: process.poll() is not None or answers(health), DEADLINE, "Streamlit is up")
            assert process.poll() is None, (tmp_path / "streamlit.log").read_text()
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def browser_page() -> Iterator[Page]:
    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 1900})
            page.set_default_timeout(DEADLINE * 1000)
            yield page
        finally:
            browser.close()


def test_the_page_shows_gold_and_follows_it_without_a_reload(
    address: str, browser_page: Page, tmp_path: Path, sample: Sample
) -> None:
    elsewhere: list[str] = []
    browser_page.on(
        "request", lambda request: elsewhere.append(request.url) if foreign(request.url) else None
    )
    browser_page.goto(f"{address}?period=All")
    counted = len(sample.tables["silver.events"])
    expect(metric(browser_page, "Events")).to_have_text(f"{counted:,}", timeout=DEADLINE * 1000)
    expect(metric(browser_page, "Conversions")).to_have_text(f"{len(sample.tables['gold.conversions']):,}")
    expect(browser_page.get_by_text("Live", exact=True).first).to_be_visible()
    charts = browser_page.locator("[data-testid=stVegaLiteChart] svg.marks")
    expect(charts).to_have_count(4)
    browser_page.evaluate("window.loadedOnce = true")
    charts.first.evaluate("drawing => { drawing.drawnOnce = true }")

    add_a_minute(tmp_path, sample, events=77, conversions=3)
    expect(metric(browser_page, "Events")).to_have_text(f"{counted + 77:,}", timeout=DEADLINE * 1000)
    expect(metric(browser_page, "Conversions")).to_have_text(
        f"{len(sample.tables['gold.conversions']) + 3:,}"
    )
    assert browser_page.evaluate("window.loadedOnce"), "the page was loaded again"
    assert charts.first.evaluate("drawing => drawing.drawnOnce"), "a chart was torn down to be refreshed"

    credit = charts.nth(2)
    expect(credit.get_by_text(HOSTILE[:12])).to_be_visible()
    credit.locator("path[aria-roledescription=bar]").first.hover()
    expect(browser_page.locator("#vg-tooltip-element")).to_contain_text(HOSTILE)
    assert not browser_page.evaluate("window.owned"), "a campaign's name was taken as HTML"

    browser_page.get_by_text("Last hour", exact=True).click()
    expect(metric(browser_page, "Events")).not_to_have_text(f"{counted + 77:,}")
    assert "period=Last" in browser_page.url
    assert elsewhere == [], "the page asked other hosts for something"


def add_a_minute(home: Path, sample: Sample, **counts: int) -> None:
    last = max(row["window_start"] for row in sample.tables["gold.traffic"])
    append_rows(home, "gold.traffic", [traffic_row(last + timedelta(minutes=1), sample.watermark, **counts)])


def metric(page: Page, label: str) -> Locator:
    box = page.locator("[data-testid=stMetric]").filter(has=page.get_by_text(label, exact=True))
    return box.locator("[data-testid=stMetricValue]")


def foreign(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False
