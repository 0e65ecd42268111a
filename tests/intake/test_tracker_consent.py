"""A visitor's decision and id hold in all tabs, in a real browser; no collector."""

import queue
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from kit.tracked_site import tracked_site
from kit.visiting import anonymous_id, name

pytestmark = pytest.mark.browser

Messages = queue.Queue[dict[str, Any]]


def next_messages(messages: Messages, *names: str) -> list[dict[str, Any]]:
    """As many messages as names; they have these names, in any order."""
    found = [messages.get(timeout=30) for _ in names]
    assert sorted(map(name, found)) == sorted(names)
    return found


def test_tabs_opened_before_consent_share_one_visitor(browser: BrowserContext) -> None:
    with tracked_site() as (site, messages):
        landing, product = browser.new_page(), browser.new_page()
        landing.goto(f"{site}?utm_source=ads")
        product.goto(f"{site}product")
        product.evaluate("millrace.identify('ada'); millrace.track('Order Completed')")
        landing.evaluate("millrace.consent(true)")
        found = next_messages(messages, "page", "page", "identify", "Order Completed")
        landing.evaluate("millrace.track('Afterwards')")
        (afterwards,) = next_messages(messages, "Afterwards")
        assert {message["anonymousId"] for message in (*found, afterwards)} == {anonymous_id(landing)}
        assert afterwards["userId"] == "ada"


def test_user_named_before_consent_does_not_replace_stored_one(browser: BrowserContext) -> None:
    with tracked_site() as (site, messages):
        first, second = browser.new_page(), browser.new_page()
        for tab, user in ((first, "ada"), (second, "bob")):
            tab.goto(site)
            tab.evaluate("user => millrace.identify(user)", user)
        first.evaluate("millrace.consent(true)")
        found = next_messages(messages, "page", "page", "identify", "identify")
        assert {message.get("userId") for message in found} == {None, "ada", "bob"}
        second.evaluate("millrace.track('Afterwards')")
        (afterwards,) = next_messages(messages, "Afterwards")
        assert afterwards["userId"] == "ada"


def test_reset_before_consent_makes_a_new_visitor(browser: BrowserContext) -> None:
    with tracked_site() as (site, messages):
        first, second = browser.new_page(), browser.new_page()
        first.goto(site)
        second.goto(site)
        second.evaluate("millrace.reset(); millrace.track('Afterwards')")
        first.evaluate("millrace.consent(true)")
        found = next_messages(messages, "page", "page", "Afterwards")
        assert len({message["anonymousId"] for message in found}) == 3
        (new,) = (message["anonymousId"] for message in found if name(message) == "Afterwards")
        assert second.evaluate("localStorage.getItem('millrace_anonymous_id')") == new
