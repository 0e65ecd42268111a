"""The tracker records a visit in a real browser against a real collector and broker."""

import json
import re
from collections import Counter
from datetime import datetime, timezone
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from intake.browser.routes import browser_routes
from kit.http_server import site
from kit.parser import parse
from kit.polling import eventually
from kit.records import Record
from kit.visiting import Collecting, all_acknowledged, anonymous_id, kept, name, see

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


def test_visit_is_tracked_with_names_ids_and_context(browser: BrowserContext, collecting: Collecting) -> None:
    page = browser.new_page()
    page.clock.install()
    page.goto(f"{collecting.shop}?utm_source=newsletter&utm_medium=email&utm_campaign=autumn")
    page.get_by_role("button", name="Agree").click()
    visitor_id = anonymous_id(page)
    strip = "[data-promotion-id=tea-time]"
    see(page, strip)
    page.clock.fast_forward(1500)
    viewed = page.locator("#log li").filter(has_text="Promotion Viewed").filter(has_text="tea-time")
    expect(viewed).to_have_count(1)
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

    # On a slow page the banner at the top is visible for a second first, so it may be viewed, too.
    named = collecting.named(visitor_id, "Signed Up", "Order Completed")
    events = [each for each in named if each.get("properties", {}).get("promotion_id") != "autumn-table"]
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


def test_nothing_is_stored_or_sent_without_consent(browser: BrowserContext, collecting: Collecting) -> None:
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


def test_held_events_are_discarded_when_consent_is_refused(
    browser: BrowserContext, collecting: Collecting
) -> None:
    page = browser.new_page()
    page.goto(collecting.teapot)
    expect(page.locator(".pill.held")).to_have_count(2)
    page.get_by_role("button", name="No, thanks").click()
    expect(page.locator(".pill")).to_have_count(0)
    page.evaluate("millrace.consent(true); millrace.track('Afterwards')")
    events = collecting.named(anonymous_id(page), "Afterwards")
    assert list(map(name, events)) == ["Afterwards"]


def test_single_page_site_of_another_origin_is_tracked(
    browser: BrowserContext, collecting: Collecting
) -> None:
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


def test_tracker_script_is_cacheable_and_shop_route_is_optional(
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
