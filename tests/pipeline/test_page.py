"""The dashboard over the tables of the jobs, in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect, sync_playwright

from kit.browser import FLAGS, chromium
from kit.home import Home
from kit.polling import eventually
from millrace.local.process.child_process import Child
from millrace.local.process.ports import stable_port
from millrace.local.services import dashboard_service, url

pytestmark = pytest.mark.browser

DEADLINE = 60  # seconds


@pytest.fixture
def address(caught_up_home: Home) -> Iterator[str]:
    """Where `millrace up` would serve the page."""
    settings = caught_up_home.settings.model_copy(update={"dashboard_port": stable_port()})
    service = dashboard_service(settings)
    child = Child(service.prepare())
    try:
        eventually(lambda: service.is_ready(child), DEADLINE, "the dashboard is up")
        yield url(settings)
    finally:
        child.stop()


def test_dashboard_shows_conversions_and_events_counted_by_sql(address: str, caught_up_home: Home) -> None:
    ((conversions, events),) = caught_up_home.sql(
        "SELECT (SELECT count(*) FROM gold.conversions WHERE is_counted),"
        " (SELECT sum(events) FROM gold.traffic"
        " WHERE channel IS NULL AND window_kind = '1 minute')"
    )
    executable = chromium()
    assert int(conversions) > 10
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 1900})
            page.goto(f"{address}/?period=All", timeout=DEADLINE * 1000)
            for label, figure in (("Conversions", conversions), ("Events", events)):
                box = page.locator("[data-testid=stMetric]").filter(has=page.get_by_text(label, exact=True))
                value = box.locator("[data-testid=stMetricValue]")
                expect(value).to_have_text(f"{int(figure):,}", timeout=DEADLINE * 1000)
        finally:
            browser.close()
