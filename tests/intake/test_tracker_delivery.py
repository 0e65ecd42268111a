"""The tracker delivers each message, in a real browser against a real collector and broker."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from kit.collecting import collector
from kit.home import Home
from kit.polling import eventually
from kit.visiting import Collecting, all_acknowledged, anonymous_id, name, shop_page
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("seconds", [0, pytest.param(60, marks=pytest.mark.long)])
def test_offline_events_arrive_once_after_reconnect(
    browser: BrowserContext, collecting: Collecting, seconds: float
) -> None:
    page = shop_page(browser, collecting)
    visitor_id = anonymous_id(page)
    browser.set_offline(True)
    page.get_by_label("Search products").fill("bowl")
    page.get_by_label("Search products").press("Enter")
    expect(page.locator("#log b").first).to_have_text("Products Searched")
    expect(page.locator("#counts")).to_have_text(re.compile("2 queued.*offline"))
    page.wait_for_timeout(seconds * 1000)  # 0 except in the long test
    page.close()

    later = browser.new_page()
    later.goto(collecting.teapot)
    later.locator("main .item").first.click()
    expect(later.locator("#counts")).to_have_text(re.compile("queued.*offline"))
    assert "Products Searched" not in map(name, collecting.events(visitor_id))
    browser.set_offline(False)
    all_acknowledged(later)
    events = collecting.named(visitor_id, "Products Searched")
    assert Counter(map(name, events)) == {"page": 4, "Product Viewed": 3, "Products Searched": 1}
    assert len({value["messageId"] for value in events}) == len(events)


def test_two_tabs_send_each_message_once(browser: BrowserContext, collecting: Collecting) -> None:
    first = shop_page(browser, collecting)
    visitor_id = anonymous_id(first)
    second = browser.new_page()
    second.goto(collecting.teapot)
    all_acknowledged(second)
    browser.set_offline(True)
    for tab in (first, second):
        tab.evaluate("for (let n = 0; n < 150; n++) millrace.track('Counted', {n})")
        expect(tab.locator("#counts")).to_have_text(re.compile("offline"))
    browser.set_offline(False)
    all_acknowledged(first)
    eventually(lambda: len(collecting.events(visitor_id)) >= 304, 40)
    first.evaluate("navigator.locks.request('millrace', () => true)")  # waits until no tab is sending
    events = collecting.events(visitor_id)
    assert max(Counter(value["messageId"] for value in events).values()) == 1
    assert Counter(map(name, events)) == {"Counted": 300, "page": 2, "Product Viewed": 2}


@pytest.mark.long
def test_killed_collector_loses_no_tracked_events(
    browser: BrowserContext, new_home: Callable[..., Home]
) -> None:
    home, port = new_home(), stable_port()
    collecting = Collecting(home, port)
    with collector(home, port):
        page = shop_page(browser, collecting)
        visitor_id = anonymous_id(page)
        page.evaluate(
            """() => {
                window.made = 0;
                const counting = setInterval(() => {
                    millrace.track("Counted", {number: window.made});
                    if (++window.made === 300) clearInterval(counting);
                }, 20);
            }"""
        )
        page.wait_for_function("window.made > 50")
        eventually(lambda: len(collecting.events(visitor_id)) > 20, 30)
    page.wait_for_function("window.made === 300")
    expect(page.locator(".pill.queued")).not_to_have_count(0)
    with collector(home, port):
        expect(page.locator("#counts")).to_have_text("302 acknowledged", timeout=90_000)
        eventually(lambda: len(numbers(collecting, visitor_id)) == 300, 40)


def numbers(collecting: Collecting, visitor_id: str) -> set[int]:
    events = collecting.events(visitor_id)
    return {value["properties"]["number"] for value in events if name(value) == "Counted"}


@pytest.mark.parametrize("has_keepalive", [True, False], ids=["fetch", "beacon"])
def test_event_tracked_while_leaving_the_page_arrives(
    browser: BrowserContext, collecting: Collecting, has_keepalive: bool
) -> None:
    if not has_keepalive:
        browser.add_init_script("delete Request.prototype.keepalive")
    page = shop_page(browser, collecting)
    visitor_id = anonymous_id(page)
    page.evaluate("millrace.track('Left'); location.href = 'about:blank'")
    page.wait_for_url("about:blank")
    (left,) = [value for value in collecting.named(visitor_id, "Left") if name(value) == "Left"]
    page.goto(collecting.teapot)
    all_acknowledged(page)
    copies = [value["messageId"] for value in collecting.events(visitor_id) if name(value) == "Left"]
    assert set(copies) == {left["messageId"]}


def test_refused_event_is_counted_and_not_retried(browser: BrowserContext, collecting: Collecting) -> None:
    page = shop_page(browser, collecting)
    page.route("**/v1/batch", lambda route: route.fulfill(status=401))
    page.evaluate("millrace.track('Refused')")
    expect(page.locator(".pill.refused")).to_have_count(1)
    page.unroute("**/v1/batch")
    page.evaluate("millrace.track('Taken')")
    events = collecting.named(anonymous_id(page), "Taken")
    assert "Refused" not in map(name, events)
    assert page.evaluate("millrace.dropped()") == {"refused": 1, "overflowed": 0}
    assert events[-1]["context"]["library"]["dropped"] == {"refused": 1, "overflowed": 0}


def test_tracker_waits_for_retry_after(browser: BrowserContext, collecting: Collecting) -> None:
    answered: list[int] = []

    def answer(route: Route) -> None:
        answered.append(page.evaluate("Date.now()"))
        if len(answered) > 1:
            route.continue_()
        else:
            route.fulfill(status=503, headers={"Retry-After": "300"})

    page = browser.new_page()
    page.clock.install()
    page.goto(collecting.teapot)
    page.route("**/v1/batch", answer)
    with page.expect_response("**/v1/batch"):
        page.get_by_role("button", name="Agree").click()
    page.evaluate("millrace.track('Waits')")
    page.clock.run_for(290_000)
    assert len(answered) == 1
    page.clock.run_for(20_000)
    all_acknowledged(page)
    assert answered[1] - answered[0] >= 300_000


def test_reconnect_ends_retry_after_wait(browser: BrowserContext, collecting: Collecting) -> None:
    page = shop_page(browser, collecting)
    page.route("**/v1/batch", lambda route: route.fulfill(status=503, headers={"Retry-After": "300"}))
    with page.expect_response("**/v1/batch"):
        page.evaluate("millrace.track('Waits')")
    page.unroute("**/v1/batch")
    browser.set_offline(True)
    browser.set_offline(False)
    all_acknowledged(page)


def test_oldest_queued_events_are_dropped_beyond_the_limit(
    browser: BrowserContext, collecting: Collecting
) -> None:
    page = shop_page(browser, collecting)
    browser.set_offline(True)
    page.evaluate(
        """() => new Promise(resolve => {
            indexedDB.open("millrace").onsuccess = ({target}) => {
                const transaction = target.result.transaction("messages", "readwrite");
                const time = n => `2026-01-01T00:00:00.${String(n).padStart(6, "0")}Z`;
                const event = {type: "track", event: "Old", anonymousId: "a"}; // closing may send it
                for (let n = 0; n < 10_000; n++)
                    transaction.objectStore("messages")
                        .put({...event, messageId: `${n}`, originalTimestamp: time(n)});
                transaction.oncomplete = () => { target.result.close(); resolve(true); };
            };
        })"""
    )
    page.evaluate("millrace.track('Newest')")
    page.wait_for_function("millrace.dropped().overflowed === 1")
    left = page.evaluate(
        """() => new Promise(resolve => {
            indexedDB.open("millrace").onsuccess = ({target}) => target.result.transaction("messages")
                .objectStore("messages").getAll().onsuccess = ({target}) => resolve(
                    [target.result.length, target.result[0].messageId, target.result.at(-1).event]);
        })"""
    )
    assert left == [10_000, "1", "Newest"]


def test_messages_are_sent_from_memory_without_indexeddb(
    browser: BrowserContext, collecting: Collecting
) -> None:
    browser.add_init_script(
        "Object.defineProperty(window, 'indexedDB', {get() { throw new Error('blocked'); }})"
    )
    page = shop_page(browser, collecting)
    page.evaluate("millrace.track('No JSON', {count: 1n}); millrace.track('Remembered')")
    all_acknowledged(page)
    assert "No JSON" not in map(name, collecting.named(anonymous_id(page), "Remembered"))
