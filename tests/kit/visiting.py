"""Visits pages with the tracker, in Chromium."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from kit.browser import FLAGS, chromium
from kit.collecting import values_in
from kit.home import Home
from kit.polling import eventually

_DEADLINE = 30_000  # milliseconds


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Run a browser until the block ends."""
    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable,
            args=FLAGS,
            ignore_default_args=["--disable-back-forward-cache"],  # a visitor's Back restores pages
        )
        expect.set_options(timeout=_DEADLINE)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """Pages of a new visitor until the block ends: nothing is stored yet."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    context.set_default_timeout(_DEADLINE)
    try:
        yield context
    finally:
        context.close()


def anonymous_id(page: Page) -> str:
    """The visitor's id, once it is stored."""
    page.wait_for_function("localStorage.getItem('millrace_anonymous_id')")
    return str(page.evaluate("localStorage.getItem('millrace_anonymous_id')"))


def kept(page: Page) -> dict[str, list[str]]:
    """Names of the localStorage values and of the databases that the page has stored."""
    found: dict[str, list[str]] = page.evaluate(
        """async () => {
            const databases = await indexedDB.databases();
            return {values: Object.keys(localStorage), databases: databases.map(({name}) => name)};
        }"""
    )
    return found


def see(page: Page, selector: str) -> None:
    """Scroll to an element, and wait until existing intersection observers have seen it."""
    page.evaluate(
        """selector => new Promise(resolve => {
            const element = document.querySelector(selector);
            element.scrollIntoView();
            new IntersectionObserver(([entry]) => entry.isIntersecting && resolve(true)).observe(element);
        })""",
        selector,
    )


class Collecting:
    """A collector, and the events that it sent to Kafka.

    Args:
        home: its home.
        port: its port.
    """

    def __init__(self, home: Home, port: int) -> None:
        self.home = home
        self.address = f"http://127.0.0.1:{port}"
        self.shop = f"{self.address}/shop"
        self.teapot = f"{self.shop}?product=teapot"  # no promotion is on this page

    def events(self, visitor_id: str) -> list[dict[str, Any]]:
        """The visitor's events, in order of time."""
        found = [value for value in values_in(self.home) if value["anonymousId"] == visitor_id]
        return sorted(found, key=lambda value: str(value["originalTimestamp"]))

    def named(self, visitor_id: str, *names: str) -> list[dict[str, Any]]:
        """Wait until the visitor has an event of each name. Returns all events of the visitor."""
        eventually(lambda: set(names) <= {name(value) for value in self.events(visitor_id)}, 40, str(names))
        return self.events(visitor_id)


def name(value: dict[str, Any]) -> str:
    return str(value.get("event") or value["type"])


def shop_page(browser: BrowserContext, collecting: Collecting) -> Page:
    """A page of the shop after consent and the acknowledgement of its first events."""
    page = browser.new_page()
    page.goto(collecting.teapot)
    page.get_by_role("button", name="Agree").click()
    expect(page.locator("#counts")).to_have_text("2 acknowledged")
    return page


def all_acknowledged(page: Page) -> None:
    expect(page.locator("#counts")).to_have_text(re.compile(r"^\d+ acknowledged$"))
