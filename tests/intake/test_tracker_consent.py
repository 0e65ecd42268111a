"""A visitor's decision and id hold in all tabs and after Back, in a real browser; no collector."""

import queue
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from kit.tracked_site import tracked_site
from kit.visiting import anonymous_id, name

pytestmark = pytest.mark.browser

# As in browsers that fire none for what happened while they kept the page.
NO_STORAGE_EVENTS = "addEventListener('storage', event => event.stopImmediatePropagation())"
NO_DATABASE = "Object.defineProperty(window, 'indexedDB', {get() { throw new Error('blocked'); }})"
Messages = queue.Queue[dict[str, Any]]


def next_messages(messages: Messages, *names: str) -> list[dict[str, Any]]:
    """As many messages as names; they have these names, in any order."""
    found = [messages.get(timeout=30) for _ in names]
    assert sorted(map(name, found)) == sorted(names)
    return found


def go_back(page: Page) -> None:
    """Go back to a page that the browser has kept as it was left."""
    page.go_back(wait_until="commit")
    page.wait_for_function("document.title === 'Restored'")


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


def test_events_after_refusal_and_grant_arrive(browser: BrowserContext) -> None:
    with tracked_site() as (site, messages):
        page = browser.new_page()
        page.goto(site)
        page.evaluate("millrace.consent(false); millrace.consent(true); millrace.track('Afterwards')")
        next_messages(messages, "Afterwards")


@pytest.mark.parametrize("has_events", [True, False])
def test_page_restored_by_back_button_sends_after_later_consent(
    browser: BrowserContext, has_events: bool
) -> None:
    if not has_events:
        browser.add_init_script(NO_STORAGE_EVENTS)
    with tracked_site() as (site, messages):
        page = browser.new_page()
        page.goto(f"{site}landing?utm_source=ads")
        page.goto(f"{site}product")
        page.evaluate("millrace.consent(false); millrace.consent(true); millrace.track('Agreed')")
        (agreed,) = next_messages(messages, "Agreed")
        go_back(page)
        found = next_messages(messages, "page", "page")
        assert [message["context"]["page"]["path"] for message in found] == ["/landing"] * 2
        assert [message["context"]["campaign"] for message in found] == [{"source": "ads"}] * 2
        assert {message["anonymousId"] for message in found} == {agreed["anonymousId"], anonymous_id(page)}


def test_page_restored_by_back_button_sends_nothing_after_later_refusal(browser: BrowserContext) -> None:
    browser.add_init_script(NO_STORAGE_EVENTS)
    browser.add_init_script(NO_DATABASE)  # browsers do not keep a page whose database is deleted
    with tracked_site() as (site, messages):
        page = browser.new_page()
        page.goto(site)
        page.evaluate("millrace.consent(true)")
        next_messages(messages, "page")
        page.goto(f"{site}product")
        next_messages(messages, "page")
        page.evaluate("millrace.consent(false)")
        go_back(page)
        assert page.evaluate("Object.keys(localStorage)") == ["millrace_consent"]
        page.evaluate("millrace.consent(true); millrace.track('Afterwards')")
        next_messages(messages, "Afterwards")


def test_grant_in_another_tab_does_not_apply_to_page_that_declares_refusal(browser: BrowserContext) -> None:
    with tracked_site('data-consent="refused"') as (site, messages):
        first, second = browser.new_page(), browser.new_page()
        first.goto(site)
        second.goto(site)
        second.evaluate("addEventListener('storage', () => { document.title = 'Decided'; })")
        first.evaluate("millrace.consent(true)")
        second.wait_for_function("document.title === 'Decided'")
        second.evaluate("millrace.track('Refused')")
        first.evaluate("millrace.track('Afterwards')")
        next_messages(messages, "Afterwards")
