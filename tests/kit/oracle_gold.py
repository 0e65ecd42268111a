"""Conversions, attribution and traffic once more, naively."""

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property

from kit.oracle_identities import worth
from kit.oracle_wire import DAY, MINUTE, SECOND, Fields

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")
_MODELS = ("first", "last", "last_non_direct", "linear", "position_based", "time_decay")
_ZERO = Decimal("0.0000")


@dataclass
class Gold:
    """What follows from the events and sessions of silver that are people's, its watermark, and its rates."""

    events: list[Fields]
    sessions: list[Fields]
    watermark: int
    rates: list[Fields]

    @cached_property
    def persons(self) -> dict[str, str]:
        """The person behind each visitor."""
        persons = {event["visitor_id"]: event["visitor_id"] for event in self.events}
        for event in sorted(self.events, key=_when):
            if event["user_id"]:
                persons[event["visitor_id"]] = event["user_id"]
        return persons

    @cached_property
    def counted_clicks(self) -> list[Fields]:
        """The clicks that count."""
        last: dict[tuple[str, str], int] = {}
        counted = []
        for event in sorted(self.events, key=_when):
            if event["role"] != "click":
                continue
            key = event["visitor_id"], event["promotion_id"]
            if key not in last or event["event_time"] - last[key] >= 10 * SECOND:
                last[key] = event["event_time"]
                counted.append(event)
        return counted

    @cached_property
    def touches(self) -> list[Fields]:
        """Every touch, with its person."""
        touches = []
        for click in self.counted_clicks:
            of_campaign = click["channel"] if any(click[name] for name in _CAMPAIGN) else "Direct"
            channel = "Display" if of_campaign == "Direct" else of_campaign
            touches.append(
                {**click, "touch_id": click["event_id"], "at": click["event_time"], "channel": channel}
            )
        clicked = {click["event_id"] for click in self.counted_clicks}
        for session in self.sessions:
            if session["first_event_id"] not in clicked:
                more = {"touch_id": session["session_id"], "at": session["started_at"], "promotion_id": None}
                touches.append({**session, **more})
        touches.sort(key=lambda touch: (touch["at"], touch["touch_id"]))
        return [{**touch, "person": self.persons[touch["visitor_id"]]} for touch in touches]

    @cached_property
    def conversions(self) -> list[Fields]:
        """gold.conversions."""
        return [{**each, "touches": len(self._journey(each))} for each in self._conversions.values()]

    @cached_property
    def _conversions(self) -> dict[str, Fields]:
        found: dict[str, Fields] = {}
        for event in sorted(self.events, key=_when):
            if event["goal"]:
                found.setdefault(conversion_id(event), self._conversion(event))
        return found

    def _conversion(self, event: Fields) -> Fields:
        return {
            "conversion_id": conversion_id(event),
            **{
                name: event[name]
                for name in ("event_id", "visitor_id", "goal", "order_id", "value", "currency")
            },
            "person_id": self.persons[event["visitor_id"]],
            "converted_at": event["event_time"],
            "reporting_value": worth(event["value"], event["currency"], event["event_time"], self.rates),
            "is_final": event["event_time"] <= self.watermark,
        }

    def _journey(self, conversion: Fields) -> list[Fields]:
        """The touches that a conversion's credit goes to: for a refund, those of its order."""
        if conversion["goal"] == "Order Refunded" and conversion["order_id"]:
            order = conversion_id({**conversion, "goal": "Order Completed"})
            conversion = self._conversions.get(order, conversion)
        person, at = conversion["person_id"], conversion["converted_at"]
        touches = self._touches_of[person]
        return [{**touch, "age": at - touch["at"]} for touch in touches if at - 30 * DAY <= touch["at"] <= at]

    @cached_property
    def _touches_of(self) -> dict[str, list[Fields]]:
        of: dict[str, list[Fields]] = defaultdict(list)
        for touch in self.touches:
            of[touch["person"]].append(touch)
        return of

    @cached_property
    def attribution(self) -> list[Fields]:
        """gold.attribution."""
        return [
            row
            for each in self._conversions.values()
            for model in _MODELS
            for row in self._share(each, model)
        ]

    def _share(self, conversion: Fields, model: str) -> list[Fields]:
        nothing = dict.fromkeys(("touch_id", "at", *_CAMPAIGN, "promotion_id"))
        journey = self._journey(conversion)
        shares = credit(model, journey) if journey else [1.0]
        values = allocate(conversion["value"], shares)
        reporting = allocate(conversion["reporting_value"], shares)
        return [
            {
                "conversion_id": conversion["conversion_id"],
                "converted_at": conversion["converted_at"],
                "model": model,
                "position": number + bool(journey),
                "touched_at": touch["at"],
                **{name: touch[name] for name in ("touch_id", "channel", *_CAMPAIGN, "promotion_id")},
                "credit": shares[number],
                "credited_value": values[number],
                "credited_reporting_value": reporting[number],
            }
            for number, touch in enumerate(journey or [{**nothing, "channel": "Direct"}])
        ]

    @cached_property
    def traffic(self) -> list[Fields]:
        """gold.traffic by the minute: every window that holds anything, overall and by channel."""
        cells: dict[tuple[int, str | None], list[Fields]] = defaultdict(list)
        counted = {click["event_id"] for click in self.counted_clicks}
        converting = {each["event_id"]: each for each in self.conversions}
        starting = {session["first_event_id"] for session in self.sessions}
        for event in self.events:
            minute = event["event_time"] // MINUTE * MINUTE
            conversion = converting.get(event["event_id"])
            fact = {
                "visitor": event["visitor_id"],
                "page_views": event["type"] in ("page", "screen"),
                "sessions": event["event_id"] in starting,
                "impressions": event["role"] == "impression",
                "clicks": event["event_id"] in counted,
                "searches": event["role"] == "search",
                "conversions": conversion is not None,
                "money": (conversion or {}).get("reporting_value") or _ZERO,
            }
            cells[minute, None].append(fact)
            if event["type"] in ("page", "screen", "track"):
                cells[minute, self._session_of(event)["channel"]].append(fact)
        return [self._window(start, channel, facts) for (start, channel), facts in cells.items()]

    def _session_of(self, event: Fields) -> Fields:
        return next(
            session
            for session in self._sessions_of[event["visitor_id"]]
            if session["started_at"] <= event["event_time"] <= session["ended_at"]
        )

    @cached_property
    def _sessions_of(self) -> dict[str, list[Fields]]:
        of: dict[str, list[Fields]] = defaultdict(list)
        for session in self.sessions:
            of[session["visitor_id"]].append(session)
        return of

    def _window(self, start: int, channel: str | None, facts: list[Fields]) -> Fields:
        sums = ("page_views", "sessions", "impressions", "clicks", "searches", "conversions")
        money = sum((fact["money"] for fact in facts), _ZERO)
        return {
            "window_kind": "1 minute",
            "window_start": start,
            "window_end": start + MINUTE,
            "channel": channel,
            "events": len(facts),
            "visitors": len({fact["visitor"] for fact in facts}),
            **{name: sum(fact[name] for fact in facts) for name in sums},
            "reporting_value": money if abs(money) < 10**14 else None,
            "is_complete": start + MINUTE <= self.watermark,
        }


def _when(event: Fields) -> tuple[int, str]:
    return event["event_time"], event["event_id"]


def conversion_id(event: Fields) -> str:
    """The id a conversion has for good."""
    order = event["order_id"]
    parts = [event["goal"], "order" if order else "event", order or event["event_id"]]
    written = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:32]


def credit(model: str, journey: list[Fields]) -> list[float]:
    """Each touch's credit."""
    touches = len(journey)
    if model == "linear" or (model == "position_based" and touches <= 2):
        return [1.0 / touches] * touches
    if model == "position_based":
        return [0.4] + [0.2 / (touches - 2)] * (touches - 2) + [0.4]
    if model == "time_decay":
        weights = [0.5 ** (touch["age"] / (7 * DAY)) for touch in journey]
        return [weight / sum(weights) for weight in weights]
    chosen = 0 if model == "first" else touches - 1
    if model == "last_non_direct":
        found = [number for number in range(touches) if journey[number]["channel"] != "Direct"]
        chosen = found[-1] if found else chosen
    return [float(number == chosen) for number in range(touches)]


def allocate(value: Decimal | None, shares: list[float]) -> list[Decimal | None]:
    """A value by shares, to four decimals; what rounding leaves goes to the largest, the latest of equals."""
    if value is None:
        return [None for _ in shares]
    parts = [(value * Decimal(repr(share))).quantize(_ZERO, ROUND_HALF_UP) + 0 for share in shares]
    largest = max(range(len(shares)), key=lambda number: (shares[number], number))
    parts[largest] += value - sum(parts)
    return list(parts)
