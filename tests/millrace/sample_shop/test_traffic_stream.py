"""Sample traffic: deterministic by seed, and with the behaviour and faults of a shop's traffic."""

import json
from collections import Counter
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import islice, pairwise
from random import Random

import pytest

from millrace.clients.record import key_of
from millrace.sample_shop.catalogue import Popular
from millrace.sample_shop.daily_rhythm import weight_at
from millrace.sample_shop.realtime import live_records
from millrace.sample_shop.traffic_stream import DEFAULT_START, generate, generate_span
from millrace.shutdown_signal import ShutdownSignal

EVENTS = 60_000


@cache
def sample() -> list[bytes]:
    return [record.value for record in generate(3, EVENTS)]


@cache
def messages() -> list[dict]:
    return [message for message in map(parsed, sample()) if message]


def parsed(value: bytes) -> dict | None:
    try:
        return json.loads(value.decode())
    except ValueError:
        return None


def seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def test_traffic_is_deterministic_by_seed_and_start():
    assert list(generate(3, 5000)) == list(generate(3, 5000))
    assert [record.value for record in generate(3, 5000)] == sample()[:5000]
    assert list(generate(4, 500)) != list(generate(3, 500))
    later = datetime(2026, 4, 2, tzinfo=timezone.utc)
    assert list(generate(3, 500, later)) != list(generate(3, 500))
    assert list(generate(3, 500, later)) == list(generate(3, 500, later.replace(tzinfo=None)))


def test_record_key_is_the_visitor():
    assert all(record.key == key_of(record.value) for record in generate(3, 5000))


def test_records_are_ordered_by_arrival_time():
    arrivals = [seconds(message["receivedAt"]) for message in messages()]
    same_bytes_again = sum(later < earlier for earlier, later in pairwise(arrivals))
    assert same_bytes_again < 0.005 * EVENTS
    assert arrivals[0] >= DEFAULT_START.timestamp()
    assert 0.6 < (max(arrivals) - arrivals[0]) / 86_400 < 1.4


def test_duplicates_are_about_six_per_thousand_and_half_are_identical():
    uids = Counter(message.get("messageId") for message in messages() if message.get("messageId"))
    copies = sum(number - 1 for number in uids.values())
    identical = EVENTS - len(set(sample())) - sum(not value for value in sample())
    assert 0.004 < copies / EVENTS < 0.008
    assert 0.3 < identical / copies < 0.7


def test_broken_records_are_about_three_per_thousand_and_of_every_kind():
    kinds = Counter(kind for kind in map(flaw, sample()) if kind)
    assert 0.0015 < kinds.total() / EVENTS < 0.0045
    assert set(kinds) == {"empty", "bad utf-8", "not json", "uid", "type", "identity", "clock"}


def flaw(value: bytes) -> str | None:
    if not value:
        return "empty"
    try:
        message = json.loads(value.decode())
    except UnicodeDecodeError:
        return "bad utf-8"
    except ValueError:
        return "not json"
    if not 0 < len(message.get("messageId", "")) <= 256:
        return "uid"
    if message["type"] not in ("page", "screen", "track", "identify", "group", "alias"):
        return "type"
    if not (message.get("anonymousId") or message.get("userId")):
        return "identity"
    ahead = seconds(message["originalTimestamp"]) - seconds(message["receivedAt"])
    return "clock" if "sentAt" not in message and ahead > 300 else None


def event_time(message: dict) -> float:
    arrival, device = seconds(message["receivedAt"]), seconds(message["originalTimestamp"])
    if "sentAt" in message and seconds(message["sentAt"]) >= device:
        return arrival - (seconds(message["sentAt"]) - device)
    return arrival if "sentAt" in message or device > arrival + 300 else device


def test_about_two_percent_of_events_are_late_and_some_by_six_hours():
    delays = [seconds(message["receivedAt"]) - event_time(message) for message in messages()]
    assert 0.01 < sum(delay > 60 for delay in delays) / EVENTS < 0.04
    assert any(delay > 600 for delay in delays)
    assert max(delays) > 6 * 3600


def test_wrong_device_clock_shifts_sent_and_original_time_equally():
    off = [
        m for m in messages() if "sentAt" in m and abs(seconds(m["sentAt"]) - seconds(m["receivedAt"])) > 200
    ]
    assert 0.01 < len(off) / EVENTS < 0.1
    on_time = sum(0 <= seconds(m["receivedAt"]) - event_time(m) < 30 for m in off)
    assert on_time > 0.8 * len(off)


def test_traffic_contains_every_kind_of_event():
    kinds = Counter(message.get("event") or message.get("type") for message in messages())
    for kind in (
        "Promotion Viewed",
        "Promotion Clicked",
        "Products Searched",
        "Product Clicked",
        "Product Added",
    ):
        assert kinds[kind] > 500, kind
    for kind in ("Order Completed", "Signed Up", "identify", "screen"):
        assert kinds[kind] > 50, kind
    for kind in ("Order Refunded", "Order Cancelled", "group", "alias"):
        assert kinds[kind] >= 1, kind
    orders = [m["properties"] for m in messages() if m.get("event") == "Order Completed"]
    assert {order["currency"] for order in orders} == {"EUR", "USD", "GBP"}
    assert all(order["order_id"] and float(order["total"]) > 0 and order["products"] for order in orders)
    assert any(isinstance(order["total"], str) for order in orders)


def test_search_results_are_in_search_event_or_list_event():
    searches = [m["properties"] for m in messages() if m.get("event") == "Products Searched"]
    shown = [m["properties"] for m in messages() if m.get("event") == "Product List Viewed"]
    listed = [search for search in searches if "products" in search]
    assert 0.35 < len(listed) / len(searches) < 0.45
    ids, words = ({each.get(key) for each in searches} for key in ("search_id", "query"))
    assert len([each for each in shown if "search_id" in each]) > len(searches) / 3
    assert len([each for each in shown if "query" in each]) > len(searches) / 10
    assert all(("search_id" in each) != ("query" in each) for each in shown)
    lost = [
        each for each in shown if not (each.get("search_id") in ids and each.get("query") in words | {None})
    ]
    assert len(lost) < len(shown) / 20, "lists whose search is broken, or still on its way"
    assert any(each["products"] for each in shown)
    assert any(not each["products"] for each in [*shown, *listed])


def test_product_clicks_match_shown_positions_and_prefer_the_first():
    clicked = [m["properties"] for m in messages() if m.get("event") == "Product Clicked"]
    shown = {
        (each["product_id"], each["position"])
        for m in messages()
        if m.get("event") in ("Products Searched", "Product List Viewed")
        for each in m["properties"].get("products", ())
    }
    assert {(each["product_id"], each["position"]) for each in clicked} <= shown
    ranks = Counter(each["position"] for each in clicked)
    assert ranks[1] > ranks[2] > ranks[6] > 0


def test_promotions_are_clicked_again_within_and_after_ten_seconds():
    clicks: dict[tuple, list[float]] = {}
    for m in messages():
        if m.get("event") == "Promotion Clicked" and m.get("anonymousId"):
            key = (m["anonymousId"], m["properties"]["promotion_id"])
            clicks.setdefault(key, []).append(event_time(m))
    gaps = [
        b - a for times in clicks.values() for a, b in zip(sorted(times), sorted(times)[1:], strict=False)
    ]
    assert sum(0.1 < gap < 10 for gap in gaps) > 50
    assert sum(10 < gap < 100 for gap in gaps) > 10


def test_visitors_return_and_some_persons_have_two_devices():
    """About three persons per hundred thousand events have two devices; this seed has more."""
    days: dict[str, set[int]] = {}
    devices: dict[str, set[str]] = {}
    for m in (parsed(record.value) for record in generate(4, 75_000)):
        if m and m.get("anonymousId"):
            days.setdefault(m["anonymousId"], set()).add(int(seconds(m["receivedAt"]) // 86_400))
            if m.get("userId"):
                devices.setdefault(m["userId"], set()).add(m["anonymousId"])
    assert sum(len(seen) > 1 for seen in days.values()) > 200
    assert sum(len(seen) > 1 for seen in devices.values()) > 2


def test_campaigns_are_in_context_url_and_click_ids():
    pages = [m["context"]["page"]["url"] for m in messages() if m["type"] == "page"]
    assert sum("gclid=" in url for url in pages) > 100
    assert sum("utm_campaign=" in url for url in pages) > 500
    tagged = [m for m in messages() if m["type"] == "page" and "utm_" in m["context"]["page"]["url"]]
    assert 0.1 < sum("campaign" not in m["context"] for m in tagged) / len(tagged) < 0.5


def test_traffic_has_declared_bots_and_few_undeclared_ones():
    agents = Counter(m["context"].get("userAgent", "") for m in messages() if m["type"] == "page")
    assert any("Googlebot" in agent for agent in agents)
    times: dict[str, list[float]] = {}
    for m in messages():
        if m.get("anonymousId") and "bot" not in m["context"].get("userAgent", ""):
            times.setdefault(m["anonymousId"], []).append(event_time(m))
    quick = [
        v
        for v, at in times.items()
        if any(b - a < 60 for a, b in zip(sorted(at), sorted(at)[100:], strict=False))
    ]
    assert 1 <= len(quick) <= 5


def test_traffic_is_low_at_night_and_popularity_is_skewed():
    assert weight_at(3 * 3600) < 0.2 < 1.5 < weight_at(20 * 3600)
    rng, popular = Random(1), Popular(list("abcd"))
    favourites = Counter(popular.choose(rng) for _ in range(5000))
    assert 1.7 < favourites["a"] / favourites["b"] < 2.3


def test_live_traffic_has_current_arrival_times():
    before = datetime.now(timezone.utc).timestamp()
    records = list(islice(live_records(1, 2000.0, None, ShutdownSignal()), 1000))
    after = datetime.now(timezone.utc).timestamp()
    arrivals = [seconds(m["receivedAt"]) for m in map(parsed, [r.value for r in records]) if m]
    assert after - before >= 0.45
    assert before - 0.01 <= min(arrivals) <= max(arrivals) <= after + 0.01


def test_live_runs_have_distinct_message_ids():
    first, second = (
        {
            m["messageId"]
            for m in (parsed(r.value) for r in live_records(1, 5000.0, 50, ShutdownSignal()))
            if m and "messageId" in m
        }
        for _ in range(2)
    )
    assert not first & second


def test_live_traffic_ends_on_shutdown_request():
    stop = ShutdownSignal()
    records = live_records(1, 0.001, None, stop)
    next(records)
    stop.requested = True
    with pytest.raises(StopIteration):
        next(records)


def test_span_has_records_at_its_rate_and_none_after_its_end():
    start = datetime(2026, 11, 2, tzinfo=timezone.utc)
    until = start + timedelta(days=1)
    records = list(generate_span(7, 0.5, start, until))
    assert len(records) == pytest.approx(0.5 * 86_400, rel=0.15)
    sent = [message for record in records[::50] if (message := parsed(record.value))]
    assert max(seconds(message["receivedAt"]) for message in sent) < until.timestamp()
    assert records[:500] == list(islice(generate_span(7, 0.5, start, until - timedelta(hours=1)), 500))
