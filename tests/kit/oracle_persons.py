"""Test oracle for gold.persons and gold.order_comparisons, computed naively."""

from datetime import date, timedelta
from decimal import Decimal
from hashlib import sha256
from zlib import crc32

from kit.oracle_gold import Gold
from kit.oracle_wire import DAY, Fields

_EPOCH = date(1970, 1, 1)
_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")


def persons_of(gold: Gold) -> list[Fields]:
    """gold.persons, with days in UTC."""
    touches = [
        touch
        for touch in gold.touches
        if touch["earns_credit"]
        and touch["has_attribution_consent"]
        and gold.grants("analytics", touch["event_id"])
    ]
    conversions = [
        each
        for each in gold.conversions
        if each["is_credited"] and each["has_analytics_consent"] is not False
    ]
    who = {gold.persons[touch["event_id"]] for touch in touches} | {each["person_id"] for each in conversions}
    return [_person(gold, name, touches, conversions) for name in sorted(who)]


def _person(gold: Gold, name: str, touches: list[Fields], conversions: list[Fields]) -> Fields:
    mine = [touch for touch in touches if gold.persons[touch["event_id"]] == name]
    paid = [each for each in conversions if each["person_id"] == name]
    first = min(mine, key=lambda touch: (touch["touched_at"], touch["touch_id"]), default=None)
    if first is None:
        at = min(each["converted_at"] for each in paid)
        row = {"first_touch_at": at, "channel": "Direct", **dict.fromkeys(_CAMPAIGN)}
    else:
        row = {
            "first_touch_at": first["touched_at"],
            **{each: first[each] for each in ("channel", *_CAMPAIGN)},
        }
    at = row["first_touch_at"]
    day = _EPOCH + timedelta(days=at // DAY)
    came = [
        session["started_at"]
        for session in gold.sessions
        if gold.persons[session["first_event_id"]] == name
        and gold.grants("analytics", session["first_event_id"])
    ]
    return {
        "person_hash": sha256(name.encode()).hexdigest()[:32],
        "person_id": name,
        **row,
        "cohort_week": day - timedelta(days=day.weekday()),
        **{
            f"returns_{days}": sum(each // DAY > at // DAY and each - at < days * DAY for each in came)
            for days in (7, 30, 90)
        },
        **{
            f"value_{days}": sum(
                (each["reporting_value"] or 0 for each in paid if each["converted_at"] - at < days * DAY),
                Decimal(0),
            ).quantize(Decimal("0.0001"))
            for days in (7, 30, 90)
        },
    }


def timeline_of(
    events: list[Fields], identities: list[Fields], customers: list[Fields], orders: list[Fields]
) -> list[Fields]:
    """gold.visitor_timeline: none without a customer or an order of the shop."""
    if not customers and not orders:
        return []
    found = [
        {
            **{name: event[name] for name in ("visitor_id", "role", "url", "user_id", "order_id", "value")},
            "entry_id": event["event_id"],
            "at": event["event_time"],
            "kind": "event",
            "name": event["name"] or event["type"],
            "currency": event["currency"],
            "valid_to": None,
        }
        for event in events
    ]
    logins = sorted({(row["visitor_id"], row["user_id"]) for row in identities})
    for kind, versions, name in (("customer", customers, "plan"), ("order", orders, "status")):
        for version in versions:
            since = version["valid_from"] or version["changed_at"]
            row = {
                "entry_id": version["version_id"],
                "at": since,
                "kind": kind,
                "role": None,
                "url": None,
                "name": version[name],
                "user_id": version["customer_id"],
                "valid_to": version["valid_to"],
                **{each: version.get(each) for each in ("order_id", "value", "currency")},
            }
            theirs = (visitor for visitor, user in logins if user == version["customer_id"])
            found += [{**row, "visitor_id": visitor} for visitor in theirs]
    return [{**row, "bucket": crc32(row["visitor_id"].encode()) % 16} for row in found]


def order_comparisons_of(events: list[Fields], orders: list[Fields]) -> list[Fields]:
    """gold.order_comparisons, from silver.events and silver.orders; none without an order of the shop."""
    sent: dict[str, list[Fields]] = {}
    for event in sorted(events, key=lambda event: (event["event_time"], event["event_id"])):
        if event["goal"] == "Order Completed" and event["order_id"]:
            sent.setdefault(event["order_id"], []).append(event)
    found = []
    for name in sorted({*sent, *(row["order_id"] for row in orders)} if orders else ()):
        versions = [row for row in orders if row["order_id"] == name]
        now = [row for row in versions if row["valid_to"] is None]
        web, shop = sent.get(name, []), now[0] if now else {}
        if web or shop:
            found.append(_comparison(name, web, shop, versions))
    return found


def _comparison(name: str, web: list[Fields], shop: Fields, versions: list[Fields]) -> Fields:
    first = web[0] if web else {}
    is_older = not web and any(row["valid_from"] is None for row in versions)
    if not web:
        difference = "no event"
    elif not shop:
        difference = "not in the shop"
    elif len(web) > 1:
        difference = "several events"
    elif _upper(first["currency"]) != _upper(shop["currency"]):
        difference = "other currency"
    else:
        difference = None if first["value"] == shop["value"] else "other value"
    since = min((row["changed_at"] for row in versions), default=None)
    at = first["event_time"] if web else since
    return {
        "order_hash": sha256(name.encode()).hexdigest()[:32],
        "order_id": name,
        "day": _EPOCH + timedelta(days=(at or 0) // DAY),
        "ordered_at": at,
        "person_id": shop.get("customer_id") or first.get("user_id"),
        "difference": None if is_older else difference,
        "is_older": is_older,
        "events": len(web) or None,
        "value": first.get("value"),
        "currency": first.get("currency"),
        "shop_value": shop.get("value"),
        "shop_currency": shop.get("currency"),
        "status": shop.get("status"),
        "shop_version_id": shop.get("version_id"),
    }


def _upper(currency: str | None) -> str | None:
    return currency and currency.upper()
