"""Drives a browser on the dashboard, like a user."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect, sync_playwright

from kit.browser import FLAGS, chromium

_DEADLINE = 120_000  # milliseconds; a first draw took more than 30 s beside other work on two cores


@dataclass
class Browsing:
    """One browser tab.

    Args:
        address: URL of the dashboard.
        page: the tab.
        elsewhere: URLs on other hosts that the pages requested.
    """

    address: str
    page: Page
    elsewhere: list[str] = field(default_factory=list)

    def open(self, view: str, **query: str) -> Page:
        """Go to a page, and wait until it is drawn."""
        place = "" if view == "overview" else view  # the default page has no path
        self.page.goto(f"{self.address}{place}?{urlencode(query)}")
        expect(self.page.get_by_text("All times are UTC.")).to_be_visible()
        app = self.page.get_by_test_id("stApp")  # else Streamlit may redraw the focused element
        expect(app).to_have_attribute("data-test-script-state", "notRunning")
        return self.page

    def go_to(self, title: str) -> None:
        """Click the link in the sidebar."""
        self.page.get_by_test_id("stSidebarNav").get_by_text(title, exact=True).click()
        expect(self.page.get_by_role("heading", name=title, exact=True)).to_be_visible()

    def metric(self, label: str) -> Locator:
        """The value of the metric with a label."""
        box = self.page.locator("[data-testid=stMetric]").filter(has=self.page.get_by_text(label, exact=True))
        return box.locator("[data-testid=stMetricValue]")

    def choose_first_row(self, heading: str) -> None:
        """Select the first row of the table under a heading. The table is a canvas: click by position."""
        above = self.page.get_by_text(heading).first
        above.scroll_into_view_if_needed()
        top = above.bounding_box()
        assert top
        tables = self.page.get_by_test_id("stDataFrame").all()
        boxes = [box for table in tables if (box := table.bounding_box())]
        under = [box for box in boxes if box["y"] > top["y"] and abs(box["x"] - top["x"]) < 30]
        table = min(under, key=lambda box: box["y"])
        self.page.mouse.click(table["x"] + 16, table["y"] + 35 + 17)


@contextmanager
def browsing(address: str) -> Iterator[Browsing]:
    """Open Chromium on the dashboard at a URL until the block ends."""
    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 1900}, locale="en-GB")
            page.set_default_timeout(_DEADLINE)
            expect.set_options(timeout=_DEADLINE)
            tab = Browsing(address, page)
            page.on("request", lambda asked: _foreign(asked.url) and tab.elsewhere.append(asked.url))
            yield tab
        finally:
            browser.close()


def _foreign(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))
