"""`millrace demo` from its start: its dashboard pages while events arrive."""

import csv
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kit.browsing import Browsing, browsing
from kit.dashboards_folder import VIEWS
from kit.polling import eventually
from kit.running_dashboard import answers
from kit.shown import MODELS, number
from lakehouse.settings import load_settings
from millrace.local.launch import end
from millrace.local.process.ports import stable_port
from millrace.local.reset import MADE

pytestmark = [pytest.mark.browser, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]
FIRST_PAGE, FIRST_CONVERSION = 300, 600  # seconds; other tests may run beside


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(home: Path) -> Iterator[Browsing]:
    """A tab on the pages of a demo with a home and ports of its own."""
    port = stable_port()
    mine = {"HOME": home, "BROKER_PORT": stable_port(), "DASHBOARD_PORT": port, "SUMMARY_INTERVAL": "PT10S"}
    environment = {**os.environ, **{f"MILLRACE_{name}": str(value) for name, value in mine.items()}}
    # Most events are older than an hour, and stay more than those of the last hour while the tests run.
    command = [sys.executable, "-m", "millrace", "demo", "--history", "2", "--rate", "3"]
    with (home / "demo.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}/"
            eventually(lambda: answers(f"{address}_stcore/health"), FIRST_PAGE, "the demo's page is up")
            with browsing(address) as tab:
                tab.page.goto(address)
                expect(tab.metric("Events")).to_be_visible(timeout=FIRST_CONVERSION * 1000)
                expect(tab.metric("Events")).not_to_have_text("0", timeout=FIRST_CONVERSION * 1000)
                yield tab
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            finally:
                end(load_settings(home=home))


def test_reset_knows_every_folder_of_the_home(home: Path, demo: Browsing) -> None:
    assert {each.name for each in home.iterdir() if each.is_dir()} <= {*MADE}


def test_dashboard_figure_updates_as_events_arrive(demo: Browsing) -> None:
    page = demo.open("overview", period="All")
    figure = demo.metric("Events").text_content() or ""
    page.evaluate("window.loadedOnce = true")
    expect(demo.metric("Events")).not_to_have_text(figure, timeout=FIRST_CONVERSION * 1000)
    assert page.evaluate("window.loadedOnce"), "the page was loaded again"


@pytest.mark.parametrize("view", VIEWS)
def test_dashboard_page_opens_without_errors(view: str, demo: Browsing) -> None:
    page = demo.open(view, period="All")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts.locator("svg.marks")).to_have_count(charts.count())
    assert demo.elsewhere == []


def test_pages_at_the_same_position_show_the_same_value(demo: Browsing) -> None:
    """Pages read all tables as of one position: opened at the same one, they have the same figure."""
    places = {"overview": "Value (EUR)", "journeys": "Value (EUR)", "campaigns": "Value credited (EUR)"}
    seen: dict[str, dict[str, str]] = {}

    def agree() -> bool:
        for view, label in places.items():
            page = demo.open(view, period="All")
            before, figure, after = _arrived(page), demo.metric(label).text_content() or "", _arrived(page)
            if before == after:  # the page was not redrawn in between
                seen.setdefault(before, {})[view] = figure
        return any(len(values) == len(places) for values in seen.values())

    eventually(agree, 180, "all pages were opened at one position")
    for values in seen.values():
        assert len({number(value) for value in values.values()}) == 1, seen


def _arrived(page: Page) -> str:
    """The header's arrival time, without how long ago that is."""
    fact = page.get_by_text("Arrived until").locator("xpath=../../..").text_content() or ""
    return fact.partition(" UTC")[0]


def test_period_filter_changes_url_and_figures(demo: Browsing) -> None:
    page = demo.open("overview", period="All")
    everything = number(demo.metric("Events").text_content())
    page.get_by_text("Last hour", exact=True).click()
    eventually(
        lambda: number(demo.metric("Events").text_content()) < everything, 30, "the last hour's events"
    )
    assert "period=Last" in page.url
    page.reload()
    eventually(lambda: 0 < number(demo.metric("Events").text_content()) < everything, 30, "the same again")


def test_opened_conversion_has_credits_that_sum_to_one(demo: Browsing) -> None:
    page = demo.open("attribution", period="All")
    demo.choose_first_row("Conversions behind it")
    page.get_by_text("Why? Open this conversion").click()
    expect(page.get_by_text("Credits of each model sum to 1.")).to_be_visible()
    rows = list(csv.DictReader(io.StringIO(downloaded(page))))
    sums = {model: sum(float(row[model]) for row in rows) for model in MODELS}
    assert sums == pytest.approx(dict.fromkeys(MODELS, 1.0), abs=1e-9)


def test_table_is_downloaded_as_csv(demo: Browsing) -> None:
    page = demo.open("attribution", period="All")
    head, *rows = downloaded(page).splitlines()
    assert set(head.split(",")) == {"channel", *MODELS}
    assert len(rows) > 1


def downloaded(page: Page) -> str:
    """The first table of a page, as CSV."""
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").first.click()
    return Path(download.value.path()).read_text(encoding="utf-8")
