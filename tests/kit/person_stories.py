"""Generated events on the boundaries of attribution rules, and the input of the fold over persons."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from folds.persons.exchange_rates import Rate
from folds.persons.records import Goal, Impression, PageView, Touch, View, Visit
from kit.consent_stories import CONSENT_CHOICES, STATEMENTS, with_statements
from kit.oracle import Oracle
from kit.oracle_gold import Gold, conversion_id
from kit.oracle_promotions import Choices
from kit.oracle_wire import DAY, MINUTE, SECOND, Fields

START = 20_000 * DAY
_STEPS = (
    0,
    0,
    1,
    10 * SECOND,
    5 * MINUTE,
    30 * MINUTE - 1,
    30 * MINUTE,
    DAY,
    7 * DAY,
    30 * DAY - 1,
    30 * DAY,
)
_SHORT_STEPS = (0, 0, 1, 20 * MINUTE, 20 * MINUTE, 30 * MINUTE - 1, 30 * MINUTE, 60 * MINUTE)
_KINDS = (
    ("page", "page_view", None),
    ("page", "page_view", None),
    ("identify", "identify", None),
    ("identify", "identify", None),
    ("track", "impression", None),
    ("track", "impression", None),
    ("track", "click", None),
    ("track", "click", None),
    ("track", "goal", "Order Completed"),
    ("track", "goal", "Order Completed"),
    ("track", "goal", "Order Refunded"),
    ("track", "goal", "Order Refunded"),
    ("track", "goal", "Order Cancelled"),
    ("track", "goal", "Signed Up"),
)
_CAMPAIGN = (
    *("campaign_source", "campaign_medium", "campaign_name", "campaign_id", "campaign_term"),
    *("campaign_content", "click_id", "click_id_kind"),
)
_CAMPAIGNS: tuple[Fields, ...] = (
    {},
    {},
    {"campaign_source": "google", "campaign_medium": "cpc", "campaign_name": "spring"},
    {"campaign_medium": "email", "campaign_content": "top"},
    {"campaign_source": "news", "campaign_medium": "email", "campaign_name": "p"},
    {"campaign_id": "q"},
    {"campaign_medium": "cpc", "has_context_campaign": True},
    {"campaign_id": "7", "campaign_term": "boots", "click_id": "1", "click_id_kind": "gclid"},
    {"campaign_term": "boots"},
)
_USERS = ("u", "w", "b", *[None] * 3)
_CHANNELS = ("Direct", "Direct", "Email", "Paid Search", "Referral")
_URLS = (
    *(None, "https://shop.example/", "https://shop.example/#top", "https://blog.example/", ""),
    "https://shop.example/?utm_campaign=p",
)
_VALUES = (None, None, "0", "0.0001", "-0.0005", "0.0015", "99.9900", "-3.3333", "10", "99999999999999.9999")
_CURRENCIES = ("EUR", "eur", "USD", "usd", "GBP", "JPY", None)
_MOMENTS = (-DAY, 0, 1, 10 * SECOND, 5 * MINUTE, DAY, 30 * DAY)
_PERSON_LEVEL = ((), ("device",), ("coupon", "device", "none"))
_WORTH = ("0.9", "1.1523456789", "0.0000000001", "999999999")


def _events(steps: tuple[int, ...], visitors: str) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    event = st.tuples(
        *map(st.sampled_from, (steps, visitors, _KINDS, _USERS, ("p", "q"))),
        *map(st.sampled_from, (_CAMPAIGNS, _CHANNELS, _URLS, _URLS, ("1", "1", "2", None))),
        *map(st.sampled_from, (_VALUES, _CURRENCIES, ("1", "2", None, None))),
    )
    return st.lists(event, min_size=1, max_size=14)


_EVENTS = _events(_STEPS, "abcr") | _events(_SHORT_STEPS, "aaab")
_RATES = st.dictionaries(
    st.tuples(st.sampled_from(["USD", "GBP", "EUR"]), st.sampled_from(_MOMENTS)),
    st.sampled_from(_WORTH),
    max_size=6,
)


@dataclass(frozen=True)
class PersonStory:
    """The oracle's gold for some events, and the same events as input of the fold."""

    gold: Gold
    goals: list[Goal]
    touches: dict[str, list[Touch]]
    pages: list[PageView]
    rates: list[Rate]


@st.composite
def person_stories(draw: st.DrawFn) -> PersonStory:
    """Stories of up to 14 events. The order of UIDs differs from the order of time."""
    at, events = START, []
    drawn = draw(_EVENTS)
    uids = draw(st.permutations(range(len(drawn))))
    for uid, (step, *rest) in zip(uids, drawn, strict=True):
        at += step
        events.append(build_event(f"e{uid:02}", at, *rest))
    reported = [
        {"currency": code, "rate": Decimal(rate).quantize(Decimal("1e-10")), "valid_from": START + since}
        for (code, since), rate in draw(_RATES).items()
    ]
    watermark = at - draw(st.sampled_from((0, 1, 10 * MINUTE, 40 * DAY)))
    choices = Choices(
        on_site_credit=draw(st.booleans()),
        view_through=draw(st.booleans()),
        person_level=_PERSON_LEVEL[len(drawn) % len(_PERSON_LEVEL)],
    )
    consent = draw(CONSENT_CHOICES)
    with_statements(events, draw(STATEMENTS))
    return story_of(
        Oracle(events, told_rates=reported, watermark=watermark, choices=choices, consent=consent)
    )


def build_event(
    uid: str,
    at: int,
    visitor: str,
    kind: tuple[str, str, str | None],
    user: str | None,
    promotion: str,
    campaign: Fields,
    channel: str,
    url: str | None,
    referrer: str | None,
    order: str | None,
    value: str | None,
    currency: str | None,
    refund: str | None,
) -> Fields:
    """An event as the oracle has it. Visitor `r` is a bot.

    Without a user, URL and referrer, it is a server's, and carries its visitor as the user.
    """
    is_server = url is None and referrer is None and user is None
    has_order = (kind[2] or "").startswith("Order")
    has_money = has_order and kind[2] != "Order Cancelled"
    return {
        **dict(zip(("type", "role", "goal"), kind, strict=True)),
        **dict.fromkeys(_CAMPAIGN),
        "has_context_campaign": False,
        "is_server_event": is_server,
        "has_internal_referrer": referrer == "https://shop.example/",
        **campaign,
        "event_id": uid,
        "event_time": at,
        "visitor_id": visitor,
        "user_id": visitor if is_server else user,
        "custom_dimensions": json.dumps({"coupon" if kind[2] else "device": uid}, separators=(",", ":")),
        "user_agent": "Googlebot" if visitor == "r" else None,
        "channel": channel,
        "url": url,
        "referrer": referrer,
        "promotion_id": promotion if kind[1] in ("impression", "click") else None,
        "order_id": order if has_order else None,
        "refund_id": refund if kind[2] == "Order Refunded" else None,
        "value": Decimal(value).quantize(Decimal("0.0001")) if has_money and value else None,
        "currency": currency if has_money else None,
    }


def story_of(oracle: Oracle) -> PersonStory:
    """The input of the fold for the events of an oracle."""
    gold = oracle.gold
    touches = {person: [_touch(touch) for touch in theirs] for person, theirs in gold.touches_of.items()}
    goals = [_goal(gold, event) for event in (*gold.events, *gold.of_bots) if event["goal"]]
    rates = [_tuple(Rate, rate) for rate in gold.rates]
    pages = [
        _tuple(PageView, {**event, "at": event["event_time"]})
        for event in gold.events
        if event["type"] in ("page", "screen")
        and not event["is_server_event"]
        and gold.grants("attribution", event["event_id"])
    ]
    return PersonStory(gold, goals, touches, pages, rates)


def _touch(row: Fields) -> Touch:
    seen, view = row["impression"], row["view"]
    return _tuple(
        Touch,
        {
            **row,
            "impression": seen and _tuple(Impression, seen),
            "view": view and _tuple(View, view),
            "rules_version": "of touch",
        },
    )


def _goal(gold: Gold, event: Fields) -> Goal:
    visit = gold._visit(event)
    own = {
        "conversion_id": conversion_id(event),
        "person_id": gold.persons.get(event["event_id"]),
        "converted_at": event["event_time"],
        "visit": visit and _tuple(Visit, visit),
        "custom_dimensions": gold._dimensions(event),
        "rules_version": "of goal",
        "is_published": False,
        **{
            f"has_{name}_consent": gold.purposes.get(event["event_id"], {}).get(name)
            for name in ("analytics", "attribution")
        },
    }
    return _tuple(Goal, {**event, **own})


def _tuple(kind: Any, row: Fields) -> Any:
    return kind(**{name: row[name] for name in kind._fields})
