"""The tracker in a real browser, against a real collector and broker."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from intake.browser.routes import browser_routes
from kit.collecting import collector, values_in
from kit.home import Home
from kit.parser import parse
from kit.polling import eventually
from kit.records import Record
from kit.visiting import anonymous_id, kept, see, site, visitor
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Home</title>
<script>(window.millrace ??= []).push(["track", "Early", {{}}])</script>
<script src="{collector}/millrace.js" data-write-key="key" data-consent="granted" data-spa defer></script>
<a id="next" href="/next" data-track="Product Added" data-product-id="p1" data-price="12.50">Add</a>"""

ROLES = {
    "page": "page_view",
    "identify": "identify",
    "Promotion Viewed": "impression",
    "Promotion Clicked": "click",
    "Products Searched": "search",
    "Product Clicked": "result_click",
    "Order Completed": "goal",
    "Signed Up": "goal",
}


class Collecting:
    """A collector, and what it sent to Kafka.

    Args:
        home: its home.
        port: where it listens.
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
        """The visitor's events, as soon as there are some of each name."""
        eventually(lambda: set(names) <= {name(value) for value in self.events(visitor_id)}, 40, str(names))
        return self.events(visitor_id)


def name(value: dict[str, Any]) -> str:
    return str(value.get("event") or value["type"])


@pytest.fixture(scope="module")
def collecting(new_home: Callable[..., Home]) -> Iterator[Collecting]:
    """One collector for the tests that do not stop it."""
    home, port = new_home(), stable_port()
    with collector(home, port):
        yield Collecting(home, port)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[BrowserContext]:
    with visitor(tmp_path / "profile") as context:
        yield context


def shop_page(browser: BrowserContext, collecting: Collecting) -> Page:
    """A page of the shop, with consent, its first events acknowledged."""
    page = browser.new_page()
    page.goto(collecting.teapot)
    page.get_by_role("button", name="Agree").click()
    expect(page.locator("#counts")).to_have_text("2 acknowledged")
    return page


def all_acknowledged(page: Page) -> None:
    expect(page.locator("#counts")).to_have_text(re.compile(r"^\d+ acknowledged$"))


def test_a_visit_arrives_with_names_ids_and_context(browser: BrowserContext, collecting: Collecting) -> None:
    page = browser.new_page()
    page.clock.install()
    page.goto(f"{collecting.shop}?utm_source=newsletter&utm_medium=email&utm_campaign=autumn")
    page.get_by_role("button", name="Agree").click()
    visitor_id = anonymous_id(page)
    strip = "[data-promotion-id=tea-time]"
    see(page, strip)
    page.clock.fast_forward(1500)
    expect(page.locator("#log b").filter(has_text="Promotion Viewed")).to_have_count(1)
    see(page, "header")
    see(page, strip)
    page.clock.fast_forward(1500)
    page.locator(strip).click()
    expect(page.locator("main h1")).to_have_text("“tea”")
    page.locator("main .item").first.click()
    page.get_by_role("button", name="Add to cart").click()
    page.get_by_role("link", name="Check out").click()
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Address").fill("Mill Lane")
    page.get_by_role("button", name="Place the order").click()
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("E-mail").fill("ada@shop.example")
    page.locator("main").get_by_role("button", name="Sign up").click()
    all_acknowledged(page)

    events = collecting.named(visitor_id, "Signed Up", "Order Completed")
    first, by_name = events[0], {name(value): value for value in events}
    counts = Counter(map(name, events))
    assert counts["Promotion Viewed"] == counts["Promotion Clicked"] == counts["Order Completed"] == 1
    assert len({value["messageId"] for value in events}) == len(events)
    assert first["context"]["campaign"] == {"source": "newsletter", "medium": "email", "name": "autumn"}
    assert first["context"]["page"]["path"] == "/shop"
    assert first["context"]["consent"] == {"categoryPreferences": {"analytics": True}}
    assert "Chrome" in first["context"]["userAgent"]
    assert "campaign" not in by_name["Promotion Clicked"]["context"]
    assert all(value["sentAt"] >= value["originalTimestamp"] for value in events)
    assert by_name["Signed Up"]["userId"] == by_name["identify"]["userId"]

    records = [Record(json.dumps(value).encode(), timestamp=datetime.now(timezone.utc)) for value in events]
    rows = parse(records)
    roles = {str(row["name"] or row["type"]): row for row in rows}
    assert [row["reason"] for row in rows] == [None] * len(rows)
    assert {each: roles[each]["role"] for each in ROLES} == ROLES
    assert (
        roles["Promotion Viewed"]["promotion_id"] == roles["Promotion Clicked"]["promotion_id"] == "tea-time"
    )
    assert (roles["Products Searched"]["query"], roles["Product Clicked"]["product_id"]) == ("tea", "teapot")
    assert roles["Products Searched"]["shown_products"] == ["teapot", "mug"]
    assert (str(roles["Order Completed"]["value"]), roles["Order Completed"]["currency"]) == (
        "64.0000",
        "EUR",
    )


@pytest.mark.parametrize("seconds", [0, pytest.param(60, marks=pytest.mark.long)])
def test_what_happens_offline_arrives_once(
    browser: BrowserContext, collecting: Collecting, seconds: float
) -> None:
    page = shop_page(browser, collecting)
    visitor_id = anonymous_id(page)
    browser.set_offline(True)
    page.get_by_label("Search products").fill("bowl")
    page.get_by_label("Search products").press("Enter")
    expect(page.locator("#log b").first).to_have_text("Products Searched")
    expect(page.locator("#counts")).to_have_text(re.compile("2 queued.*offline"))
    page.wait_for_timeout(seconds * 1000)  # 0, but in the long test
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
    first.evaluate("navigator.locks.request('millrace', () => true)")  # neither is sending
    events = collecting.events(visitor_id)
    assert max(Counter(value["messageId"] for value in events).values()) == 1
    assert Counter(map(name, events)) == {"Counted": 300, "page": 2, "Product Viewed": 2}


def test_without_consent_nothing_is_stored_or_sent(browser: BrowserContext, collecting: Collecting) -> None:
    sent: list[str] = []
    browser.on("request", lambda asked: asked.method == "POST" and sent.append(asked.url))
    page = browser.new_page()
    page.clock.install()
    page.goto(collecting.teapot)
    expect(page.locator(".pill.held")).to_have_count(2)
    page.clock.fast_forward(10_000)
    assert kept(page) == {"values": [], "databases": []}
    assert sent == []

    page.get_by_role("button", name="Agree").click()
    expect(page.locator("#counts")).to_have_text("2 acknowledged")
    visitor_id = anonymous_id(page)
    events = collecting.named(visitor_id, "page", "Product Viewed")
    assert kept(page) == {"values": ["millrace_anonymous_id", "millrace_consent"], "databases": ["millrace"]}

    browser.set_offline(True)
    page.get_by_role("link", name="Cart").click()
    expect(page.locator("#counts")).to_have_text(re.compile("queued"))
    page.get_by_role("button", name="Privacy settings").click()
    page.get_by_role("button", name="No, thanks").click()
    browser.set_offline(False)
    eventually(lambda: kept(page) == {"values": ["millrace_consent"], "databases": []})
    before = len(sent)
    page.goto(collecting.teapot)
    page.clock.fast_forward(10_000)
    expect(page.locator("#counts")).to_have_text("None yet")
    assert kept(page) == {"values": ["millrace_consent"], "databases": []}
    assert len(sent) == before
    assert collecting.events(visitor_id) == events


def test_what_was_held_is_gone_after_a_refusal(browser: BrowserContext, collecting: Collecting) -> None:
    page = browser.new_page()
    page.goto(collecting.teapot)
    expect(page.locator(".pill.held")).to_have_count(2)
    page.get_by_role("button", name="No, thanks").click()
    expect(page.locator(".pill")).to_have_count(0)
    page.evaluate("millrace.consent(true); millrace.track('Afterwards')")
    events = collecting.named(anonymous_id(page), "Afterwards")
    assert list(map(name, events)) == ["Afterwards"]


def test_a_collector_that_is_killed_loses_nothing(
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
def test_an_event_on_leaving_the_page_arrives(
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


def test_a_site_of_another_origin(browser: BrowserContext, collecting: Collecting) -> None:
    page = browser.new_page()
    with site(PAGE.format(collector=collecting.address)) as origin:
        landing = f"{origin}/?utm_source=google&utm_medium=cpc"
        page.goto(landing)
        visitor_id = anonymous_id(page)
        page.evaluate("history.pushState(null, '', '/second'); document.title = 'Second'")
        page.wait_for_function("document.title === 'Second'")
        page.click("#next")
        page.wait_for_url("**/next")
        collecting.named(visitor_id, "Early", "Product Added")
        eventually(lambda: len(paths(collecting, visitor_id)) == 3, 30)
    by_name = {name(value): value for value in collecting.events(visitor_id)}
    assert by_name["Product Added"]["properties"] == {"product_id": "p1", "price": "12.50"}
    assert by_name["Product Added"]["context"]["page"]["path"] == "/second"
    second = paths(collecting, visitor_id)["/second"]
    assert paths(collecting, visitor_id)["/"]["context"]["campaign"] == {"source": "google", "medium": "cpc"}
    assert second["context"]["page"]["title"] == "Second"
    assert second["context"]["page"]["referrer"] == landing
    assert second["properties"]["url"] == f"{origin}/second"


def paths(collecting: Collecting, visitor_id: str) -> dict[str, dict[str, Any]]:
    """The visitor's page views by their path."""
    events = collecting.events(visitor_id)
    return {value["context"]["page"]["path"]: value for value in events if value["type"] == "page"}


def test_what_the_collector_refuses_is_counted_and_not_sent_again(
    browser: BrowserContext, collecting: Collecting
) -> None:
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


def test_retry_after_is_waited_for(browser: BrowserContext, collecting: Collecting) -> None:
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


def test_being_online_again_ends_the_wait(browser: BrowserContext, collecting: Collecting) -> None:
    page = shop_page(browser, collecting)
    page.route("**/v1/batch", lambda route: route.fulfill(status=503, headers={"Retry-After": "300"}))
    with page.expect_response("**/v1/batch"):
        page.evaluate("millrace.track('Waits')")
    page.unroute("**/v1/batch")
    browser.set_offline(True)
    browser.set_offline(False)
    all_acknowledged(page)


def test_the_oldest_are_dropped_beyond_the_limit(browser: BrowserContext, collecting: Collecting) -> None:
    page = shop_page(browser, collecting)
    browser.set_offline(True)
    page.evaluate(
        """() => new Promise(resolve => {
            indexedDB.open("millrace").onsuccess = ({target}) => {
                const transaction = target.result.transaction("messages", "readwrite");
                const time = n => `2026-01-01T00:00:00.${String(n).padStart(6, "0")}Z`;
                for (let n = 0; n < 10_000; n++)
                    transaction.objectStore("messages").put({messageId: `${n}`, originalTimestamp: time(n)});
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


def test_without_a_database_messages_are_sent_from_memory(
    browser: BrowserContext, collecting: Collecting
) -> None:
    browser.add_init_script(
        "Object.defineProperty(window, 'indexedDB', {get() { throw new Error('blocked'); }})"
    )
    page = shop_page(browser, collecting)
    page.evaluate("millrace.track('No JSON', {count: 1n}); millrace.track('Remembered')")
    all_acknowledged(page)
    assert "No JSON" not in map(name, collecting.named(anonymous_id(page), "Remembered"))


def test_files_are_cached_and_the_shop_is_for_this_machine(
    browser: BrowserContext, collecting: Collecting
) -> None:
    answer = browser.request.get(f"{collecting.address}/millrace.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "public, max-age=3600"
    known = {"If-None-Match": f"W/{answer.headers['etag']}"}
    assert browser.request.get(f"{collecting.address}/millrace.js", headers=known).status == 304
    other = {"If-None-Match": '"other"'}
    assert browser.request.get(f"{collecting.address}/millrace.js", headers=other).status == 200
    refused = browser.request.post(f"{collecting.address}/v1/other", data="{}")
    assert "Retry-After" in refused.headers["access-control-expose-headers"]
    assert [route.path for route in browser_routes(shop=False)] == ["/millrace.js"]
    assert [route.path for route in browser_routes(shop=True)] == ["/millrace.js", "/shop"]
