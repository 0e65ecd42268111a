"""Generated visits: short, interleaved, and on the boundaries of every rule."""

import json
import random
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kit.records import NOON, Record, message, rate, record

COMMITS = 4
_STEPS = st.sampled_from(
    [
        timedelta(0),
        timedelta(microseconds=1),
        timedelta(seconds=9, microseconds=999_999),
        timedelta(seconds=10),
        timedelta(minutes=5),
        timedelta(minutes=10),
        timedelta(minutes=29, seconds=59, microseconds=999_999),
        timedelta(minutes=30),
        timedelta(hours=3),
        timedelta(hours=24),
        timedelta(hours=24, microseconds=1),
        timedelta(days=29, hours=23),
    ]
)
_KINDS = (
    "page",
    "page",
    "screen",
    "Promotion Viewed",
    "Promotion Clicked",
    "Promotion Clicked",
    "Products Searched",
    "Product List Viewed",
    "Product Clicked",
    "Order Completed",
    "Order Completed",
    "Order Refunded",
    "Order Refunded",
    "Order Cancelled",
    "Signed Up",
    "identify",
    "group",
)
_URLS = st.sampled_from(
    [
        "https://shop.example/",
        "https://shop.example/?utm_source=google&utm_medium=cpc&utm_campaign=spring",
        "https://shop.example/?utm_medium=email",
        "https://shop.example/?gclid=abc",
        None,
    ]
)
_REFERRERS = st.sampled_from(
    [
        *("https://www.google.com/", "https://t.co/x", "https://shop.example:443/a", "https://blog.example/"),
        *("https://www.paypal.com/checkoutnow", "https://shop.example/cart", None),
    ]
)
_BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0"
_CRAWLER = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
_AGENTS = st.sampled_from([*[_BROWSER, None] * 20, _CRAWLER, "-"])
_LIBRARIES = st.sampled_from([*["analytics.js"] * 20, "millrace-access-log"])
_SEARCH_IDS = st.sampled_from([None, None, "1", 1, "2"])
_BOOT, _SHOE = {"product_id": "boot", "position": 9}, {"product_id": "shoe"}
_PRODUCTS = st.sampled_from([None, [], "boot", [_BOOT], [_SHOE, {}, _BOOT, _SHOE]])
_VALUES = st.sampled_from(["0.0001", "10", "99.99", "-3", "x", 7, None])


@dataclass(frozen=True)
class Sent:
    """A record, and the number of its bronze commit."""

    record: Record
    commit: int


@st.composite
def visits(draw: st.DrawFn) -> list[tuple[dict[str, Any], int]]:
    """Messages of one story with a few visitors, each with its commit. Copies may be in any commit."""
    at = NOON
    sent = []
    for number in range(draw(st.integers(1, 9))):
        at += draw(_STEPS)
        visitor, kind = draw(st.sampled_from("ab")), draw(st.sampled_from(_KINDS))
        uid = f"{draw(st.integers(0, 9))}{number}"  # UIDs are not in order of time
        body = message(uid, visitor, kind, at, properties=_properties(draw, kind))
        if kind == "identify" or draw(st.integers(0, 3)) == 0:
            body["userId"] = draw(st.sampled_from(["u", "w", "b"]))
        page = {"url": draw(_URLS), "referrer": draw(_REFERRERS)}
        if draw(st.integers(0, 4)) == 0:
            page["url"] = None
            body["context"] = {"page": page, "campaign": {"source": "facebook", "medium": "CPC"}}
        else:
            body["context"] = {"page": page}
        body["context"] |= {"userAgent": draw(_AGENTS), "library": {"name": draw(_LIBRARIES)}}
        if draw(st.integers(0, 5)) == 0:  # of a server, or of an app without an anonymousId
            del body["anonymousId"]
            page["url"], body["userId"] = None, draw(st.sampled_from(["a", "u", "b"]))
        copies = draw(st.sampled_from([1, 1, 1, 2, 3]))
        sent += [(body, draw(st.integers(0, COMMITS - 1))) for _ in range(copies)]
    return sent


def _properties(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    if kind.startswith("Promotion"):
        return {"promotion_id": draw(st.sampled_from(["p", "p", "q"]))}
    if kind.startswith("Order"):
        money = draw(st.sampled_from(["total", "revenue"]))
        currency = draw(st.sampled_from(["EUR", "EUR", "eur", "USD", "usd", "GBP", "JPY", None]))
        order = draw(st.sampled_from(["1", "1", "2", None]))
        more = {"refund_id": draw(st.sampled_from(["1", "2", None]))} if kind == "Order Refunded" else {}
        return {"order_id": order, money: draw(_VALUES), "currency": currency, **more}
    if kind.startswith("Product"):
        words = {"query": draw(st.sampled_from(["boots", "boots", None])), "search_id": draw(_SEARCH_IDS)}
        return {**words, "product_id": draw(st.sampled_from(["boot", "shoe"])), "products": draw(_PRODUCTS)}
    return {"query": "boots", "product_id": "boot"}


def story_events(stories: int) -> list[Sent]:
    """Stories with disjoint visitors, UIDs, users and orders. Deterministic."""
    reported: list[list[tuple[dict[str, Any], int]]] = []

    @settings(
        max_examples=stories,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(visits())
    def collect(story: list[tuple[dict[str, Any], int]]) -> None:
        reported.append(story)

    collect()
    return [
        Sent(record(of_story(body, f"s{number}-")), commit)
        for number, story in enumerate(reported)
        for body, commit in story
    ]


def of_story(body: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The message with a prefix for all its ids."""
    own = {name: prefix + body[name] for name in ("messageId", "anonymousId", "userId") if name in body}
    order = body["properties"].get("order_id")
    properties = {**body["properties"], **({"order_id": prefix + order} if order else {})}
    return {**body, **own, "properties": properties}


def rate_records() -> list[Sent]:
    """Exchange rates for the stories' orders: on time, late, or corrected; none for JPY."""
    hour, day = timedelta(hours=1), timedelta(days=1)
    return [
        Sent(rate("USD", 0.9, NOON - day), 0),
        Sent(rate("usd", "0.91234567891", NOON + timedelta(minutes=5)), 2),
        Sent(rate("USD", 0.5, NOON + 3 * hour), 1),
        Sent(rate("USD", 0.95, NOON + 3 * hour), 3),  # the later record wins
        Sent(rate("USD", 1.1, NOON + 20 * day), 3),
        Sent(rate("GBP", 1.15, NOON + 10 * timedelta(seconds=1)), 3),
        Sent(rate("EUR", 7, NOON - day), 1),  # ignored: EUR is the reporting currency
        Sent(rate("JPY", 0, NOON - day), 2),
        Sent(record("not json", topic="exchange_rates"), 2),
    ]


def cost_records() -> list[Sent]:
    """Costs in three currencies: sent again, a load with a row that never comes, copies, and one rejected."""
    reported = []
    for load, (rows, commit) in enumerate([(2, 0), (3, 2), (4, 1), (2, 3)], 1):
        for row in range(1, rows + 1):
            body = {
                "platform": "ads",
                "account": "shop",
                "day": "2026-03-01",
                "load_id": f"load-{load}",
                "campaign_source": "news",
                "campaign_medium": "email",
                "campaign_name": f"name-{row % 2}",
                "cost": f"{load}.{row}",
                "currency": ("USD", "gbp", "EUR", "JPY")[row - 1],
                "loaded_at": f"2026-03-0{load}T00:00:00Z",
                "load_row": row,
                "load_rows": rows,
            }
            if (load, row) != (4, 2):
                reported.append(Sent(record(body, topic="campaign_costs"), (commit + row) % COMMITS))
    return [*reported, reported[2], Sent(record({"cost": 1}, topic="campaign_costs"), 1)]


def rush_events() -> list[Sent]:
    """Visitors just below and above the bot rate, spread over commits out of order."""
    minute, tick = timedelta(minutes=1), timedelta(microseconds=1)
    reported = []
    for name, events, span in (
        ("busy", 100, timedelta(0)),
        ("full", 101, minute),
        ("quick", 101, minute - tick),
        ("crowd", 130, timedelta(seconds=75)),
    ):
        for number in range(events):
            at = NOON + span * number / (events - 1)
            body = message(f"{name}-{number:03}", f"v-{name}", "page", at, userId=f"u-{name}")
            reported.append(Sent(record(body), number % COMMITS))
        properties = {"order_id": f"o-{name}", "total": 5, "currency": "USD"}
        order = message(f"{name}-o", f"w-{name}", "Order Completed", NOON + 2 * minute, userId=f"u-{name}")
        reported.append(Sent(record({**order, "properties": properties}), 1))
    return reported


def search_events(visitors: int) -> list[Sent]:
    """Searches with results, some of them clicked; a visitor searches every twelve minutes."""
    reported = []
    for number in range(3 * visitors):
        name, at = f"seeker-{number % visitors}", NOON + number * timedelta(minutes=4)
        for place, kind in enumerate(("Products Searched", "Product List Viewed", "Product Clicked")):
            if kind == "Product Clicked" and number % 4 == 0:
                continue
            properties = {"query": "boots", "product_id": "shoe", "products": [_BOOT, _SHOE]}
            body = message(f"{name}-{number}-{place}", name, kind, at + place * timedelta(minutes=1))
            reported.append(Sent(record({**body, "properties": properties}), 0))
    return reported


def cut(reported: list[Sent]) -> list[list[Record]]:
    """The records by bronze commit, spread over three partitions."""
    commits: list[list[Record]] = [[] for _ in range(COMMITS)]
    for number, each in enumerate(reported):
        commits[each.commit].append(replace(each.record, partition=number % 3))
    return commits


def in_time(reported: list[Sent], commits: int, seed: int = 0) -> list[list[Record]]:
    """The records in order of time over some bronze commits; about one in five arrives in a later commit."""
    chance = random.Random(seed)
    ordered = sorted((each.record for each in reported), key=_sent_at)
    found: list[list[Record]] = [[] for _ in range(commits)]
    for number, each in enumerate(ordered):
        at = number * commits // len(ordered)
        later = chance.randrange(at, commits) if chance.random() < 0.2 else at
        found[later].append(replace(each, partition=number % 3))
    return found


def _sent_at(record: Record) -> str:
    """Time of an event or a rate as text; other records sort first."""
    try:
        body = json.loads(record.value or b"")
    except ValueError:
        return ""
    return str(body.get("originalTimestamp") or body.get("valid_from") or "")
