"""Generated stories for the pure visitor fold: events in batches, late by seconds or years."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from folds.records.sites import Sites
from folds.rule_numbers import RuleNumbers
from folds.visitors.events import Event
from folds.visitors.rules import VisitorRules
from kit.oracle_promotions import Choices
from kit.oracle_wire import DAY, MINUTE, SECOND, Fields

NOON = 20_000 * DAY + 12 * 60 * MINUTE
DELAY = 10 * MINUTE
BATCHES = 3
_STEPS = (
    0, 0, 1, 9 * SECOND, 10 * SECOND - 1, 10 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE - 1, 10 * MINUTE,
    30 * MINUTE - 1, 30 * MINUTE, 30 * MINUTE + 10 * SECOND, 3 * 60 * MINUTE, DAY - 1, DAY, DAY + 1,
    400 * DAY,
)  # fmt: skip
_SHORT_STEPS = (0, 0, 1, 10 * MINUTE, 20 * MINUTE, 20 * MINUTE, 30 * MINUTE - 1, 30 * MINUTE)
_KINDS: tuple[Fields, ...] = (
    {"type": "page", "role": "page_view"},
    {"type": "screen", "role": "page_view"},
    *[{"type": "identify", "role": "identify"}] * 3,
    {"type": "track", "role": "other"},
    *({"type": "track", "role": role, "promotion_id": promotion} for promotion in "pq"
      for role in ("impression", "click", "click")),
    {"type": "track", "role": "search", "query": "boots"},
    {"type": "track", "role": "search"},
    {"type": "track", "role": "result_click", "product_id": "boot"},
    {"type": "track", "role": "result_click"},
    {"type": "track", "role": "goal", "goal": "Order Completed", "order_id": "1"},
    {"type": "track", "role": "goal", "goal": "Order Completed", "order_id": "ø\n2"},
    {"type": "track", "role": "goal", "goal": "Order Refunded", "order_id": "1", "refund_id": "ø"},
    {"type": "track", "role": "goal", "goal": "Order Refunded", "order_id": "1"},
    {"type": "track", "role": "goal", "goal": "Signed Up"},
)  # fmt: skip
_BACK: Fields = {"channel": "Direct", "has_internal_referrer": True}
_ORIGINS: tuple[Fields, ...] = (
    {"channel": "Direct"},
    {"channel": "Direct", "campaign_medium": "odd", "url": "https://shop.example/?utm_medium=odd"},
    {"channel": "Paid Search", "campaign_source": "google", "campaign_medium": "cpc", "url": "/a"},
    {"channel": "Referral", "url": "/b", "referrer": "https://blog.example/"},
    {"channel": "Email", "campaign_id": "7", "campaign_term": "boots", "campaign_content": "top"},
    {"channel": "Paid Search", "url": "/?gclid=1", "click_id": "1", "click_id_kind": "gclid"},
    {"channel": "Direct", "url": "https://shop.example/"},
    {"channel": "Direct", "url": "https://www.shop.example:443/#top"},
    {"channel": "Direct", "url": "https://pay.shop.example/"},
    {"channel": "Email", "url": "https://shop.example/", "campaign_name": "p", "has_context_campaign": True},
    {"channel": "Referral", "url": "https://shop.example/?utm_campaign=p", "campaign_name": "p"},
    {"channel": "Email", "campaign_id": "q", "has_context_campaign": True},
    *({**_BACK, "url": f"https://shop.example/{page}"} for page in ("thanks", "cart", "account")),
    {**_BACK, "campaign_term": "boots", "url": "https://shop.example/?utm_term=boots"},
    {"channel": "Email", "campaign_id": "8", "has_internal_referrer": True},
    {"channel": "Direct", "click_id": "f", "click_id_kind": "fbclid", "has_internal_referrer": True},
    {"channel": "Direct", "is_server_event": True},
    {"channel": "Email", "is_server_event": True, "campaign_medium": "email", "has_context_campaign": True},
    *(
        {"channel": "Email", "campaign_source": "a", "campaign_medium": "b", "campaign_name": name}
        for name in "pr"
    ),
)
_USERS = ("u", "w", "b", *[None] * 3)
_NOTHING: Fields = dict.fromkeys(
    ("name", "user_id", "user_agent", "library", "url", "referrer", "campaign_source", "campaign_medium",
     "campaign_name",
     "campaign_term", "campaign_content", "campaign_id", "click_id", "click_id_kind",
     "custom_dimensions", "promotion_id",
     "query", "product_id", "goal", "order_id", "refund_id", "value", "currency")
)  # fmt: skip


@dataclass(frozen=True)
class Story:
    """Events of one or two visitors by batch, and the lead of each batch's heartbeat."""

    batches: tuple[tuple[Fields, ...], ...]
    ahead: tuple[int, ...]

    @property
    def events(self) -> list[Fields]:
        """The events of all batches."""
        return [event for batch in self.batches for event in batch]


def _telling(steps: tuple[int, ...], visitors: str) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    reported = st.tuples(
        st.sampled_from(steps),
        st.sampled_from(visitors),
        st.sampled_from(_KINDS),
        st.sampled_from(_ORIGINS),
        st.sampled_from(_USERS),
        st.integers(0, 9),
        st.integers(0, BATCHES - 1),
    )
    return st.lists(reported, min_size=1, max_size=12)


_TELLING = _telling(_STEPS, "aab") | _telling(_SHORT_STEPS, "a")
_AHEAD = st.tuples(*[st.sampled_from((0, 0, 30 * MINUTE, 30 * MINUTE + 10 * SECOND, 500 * DAY))] * BATCHES)


def _build(reported: list[tuple[Any, ...]], ahead: tuple[int, ...]) -> Story:
    batches: list[list[Fields]] = [[] for _ in range(BATCHES)]
    at = NOON
    for number, (step, visitor, kind, origin, user, uid, batch) in enumerate(reported):
        at += step
        user_id = visitor if origin.get("is_server_event") else user
        stated = {"device": f"d{number}"} | ({"coupon": f"c{number}"} if uid % 2 else {})
        values = json.dumps(stated, sort_keys=True, separators=(",", ":"))
        fields = {"user_id": user_id, "custom_dimensions": None if uid == 9 else values}
        batches[batch].append(event(at, visitor, f"{uid}{number}", **fields, **kind, **origin))
    return Story(tuple(map(tuple, batches)), ahead)


STORIES = st.builds(_build, _TELLING, _AHEAD)


CHOICES = (
    Choices(),
    Choices(("shop.example",), on_site_credit=True),
    Choices((), on_site_credit=True, campaign_in_session=False),
)


def event(at: int, visitor: str = "a", uid: str = "", **fields: Any) -> Fields:
    """An event with the given fields. The default UID is derived from its time."""
    said = {"type": "page", "role": "page_view", "channel": "Direct", **fields}
    return {
        **_NOTHING,
        "has_context_campaign": False,
        "has_internal_referrer": False,
        "event_id": uid or f"e{at}",
        "event_time": at,
        "visitor_id": visitor,
        **said,
        "is_server_event": said.get("is_server_event", False) and said["type"] != "screen",
    }


def rules_of(choices: Choices) -> VisitorRules:
    """The rules of the fold for some choices."""
    numbers = RuleNumbers(
        on_site_promotions="credit" if choices.on_site_credit else "none",
        campaign_in_session="touch" if choices.campaign_in_session else "ignore",
    )
    sites = Sites(dict.fromkeys(choices.own_hosts, "own"))
    return VisitorRules.of(numbers, ["Order Refunded"], sites, frozenset(("device", "system")))


def to_events(fields: Iterable[Fields]) -> list[Event]:
    """The events as input of the fold."""
    return [Event(**{name: each[name] for name in Event._fields if name in each}) for each in fields]
