"""Test oracle for touches, conversions, attribution and trails, computed naively."""

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from kit.oracle_consents import BY_DEFAULT, ConsentChoices, purposes_of
from kit.oracle_credit import MODELS, allocate, credit
from kit.oracle_identities import persons_of, worth
from kit.oracle_promotions import DEFAULTS, Choices, is_on_site
from kit.oracle_refunds import ORDER, REFUND, REVERSALS, with_money
from kit.oracle_trails import step_event, trail_of
from kit.oracle_views import view_of, view_touches
from kit.oracle_wire import DAY, MINUTE, SECOND, Fields

_OWN_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name", "campaign_id")
_CAMPAIGN = (*_OWN_CAMPAIGN, "campaign_term", "campaign_content", "click_id_kind")
SESSION = ("page", "screen", "track")


@dataclass
class Gold:
    """Expected gold tables from silver without bots: events, sessions, watermark and exchange rates."""

    events: list[Fields]
    sessions: list[Fields]
    watermark: int
    rates: list[Fields]
    of_bots: list[Fields] = field(default_factory=list)
    """Events of bots in silver."""
    choices: Choices = DEFAULTS
    consent: ConsentChoices = BY_DEFAULT

    @cached_property
    def persons(self) -> dict[str, str]:
        """The person of each event, by UID; events of bots have none."""
        return persons_of(self.events)

    @cached_property
    def purposes(self) -> dict[str, dict[str, bool]]:
        """What is granted at each event, by UID; not of bots."""
        return purposes_of(self.events, self.consent)

    def grants(self, purpose: str, uid: str) -> bool:
        """Whether a purpose is granted at an event."""
        return uid not in self.purposes or self.purposes[uid][purpose]

    @cached_property
    def counted_clicks(self) -> list[Fields]:
        """The counted clicks, without repeats within ten seconds."""
        last: dict[tuple[str, str], int] = {}
        counted = []
        for event in sorted(self.events, key=when):
            if event["role"] != "click":
                continue
            key = event["visitor_id"], event["promotion_id"]
            if key not in last or event["event_time"] - last[key] >= 10 * SECOND:
                last[key] = event["event_time"]
                counted.append(event)
        return counted

    @cached_property
    def touches(self) -> list[Fields]:
        """gold.touches."""
        touches = []
        campaigns = self._campaigns
        for click in self.counted_clicks:
            own = {
                "kind": "click",
                "touch_id": click["event_id"],
                "touched_at": click["event_time"],
                "impression": self._impression_of(click),
                "view": None,
            }
            touches.append({**click, **own, **self._standing_of(click)})
        leading = {touch["event_id"] for touch in touches if touch["channel"] != "On-site"}
        for session in self.sessions:
            if session["first_event_id"] not in leading and session["continues"] is None:
                own = {
                    "kind": "visit",
                    "touch_id": session["session_id"],
                    "touched_at": session["started_at"],
                    "event_id": session["first_event_id"],
                    "url": session["entry_url"],
                    "referrer": session["entry_referrer"],
                    "promotion_id": None,
                    "impression": None,
                    "earns_credit": True,
                    "view": self._view_of(session),
                }
                touches.append({**session, **own})
        for event in campaigns:
            if event["event_id"] not in leading:
                own = {
                    "kind": "campaign",
                    "touch_id": hashlib.sha256(f"campaign|{event['event_id']}".encode()).hexdigest()[:32],
                    "touched_at": event["event_time"],
                    "promotion_id": None,
                    "impression": None,
                    "earns_credit": True,
                    "view": None,
                }
                touches.append({**event, **own})
        for touch in touches:
            seen = touch["impression"]
            touch["has_attribution_consent"] = self.grants("attribution", touch["event_id"])
            if seen and not self.grants("attribution", seen["event_id"]):
                touch["impression"] = None
        return sorted(touches, key=lambda touch: (touch["touched_at"], touch["touch_id"]))

    @cached_property
    def _campaigns(self) -> list[Fields]:
        """Events after the first of a session, by another campaign or click id than the latest."""
        if not self.choices.campaign_in_session:
            return []
        found = []
        for session in self.sessions:
            latest = session
            mine = [each for each in self._events_of[session["visitor_id"]] if each["type"] in SESSION]
            there = [each for each in mine if self.session_of(each) is session]
            for event in sorted(there, key=when)[1:]:
                others = [event[name] not in (None, latest[name]) for name in (*_OWN_CAMPAIGN, "click_id")]
                if any(others) and event["role"] != "impression":  # seen is not come
                    found.append(event)
                    latest = event
        return found

    def _view_of(self, session: Fields) -> Fields | None:
        visitor = session["visitor_id"]
        clicked = self._clicks_of[visitor]
        seen = [
            event
            for event in self._events_of[visitor]
            if event["role"] == "impression" and self.grants("attribution", event["event_id"])
        ]
        channels = {event["event_id"]: _own_channel(event) for event in seen}
        return view_of(session, seen, clicked, channels)

    def _standing_of(self, click: Fields) -> Fields:
        """The channel of a counted click, and whether it earns credit."""
        session = self.session_of(click)
        if session is None:  # of a server
            return {"channel": _own_channel(click), "earns_credit": False}
        if is_on_site(click, session, self.choices):
            others = [each["event_id"] for each in self._campaigns]
            if session["continues"] is None:
                others.append(session["first_event_id"])
            earns = self.choices.on_site_credit and click["event_id"] not in others
            return {"channel": "On-site", "earns_credit": earns}
        return {"channel": _own_channel(click), "earns_credit": True}

    def _impression_of(self, click: Fields) -> Fields | None:
        """The visitor's last impression of the promotion in the 30 minutes before the click."""
        seen = [
            event
            for event in self._events_of[click["visitor_id"]]
            if event["role"] == "impression"
            and event["promotion_id"] == click["promotion_id"]
            and 0 <= click["event_time"] - event["event_time"] < 30 * MINUTE
        ]
        return step_event(max(seen, key=when)) if seen else None

    @cached_property
    def conversions(self) -> list[Fields]:
        """gold.conversions."""
        return [
            {
                **each,
                "touches": len(journey),
                "traffic_channel": _counted_under(each, journey),
                "is_credited": self._is_credited(each),
                "custom_dimensions": self._with_first_touch(each, journey),
            }
            for each in self._conversions.values()
            for journey in [self._journey(each)]
        ]

    def _with_first_touch(self, conversion: Fields, journey: list[Fields]) -> str | None:
        """The custom dimensions of a conversion; those of level `person` are of its first touch."""
        values = _values(conversion)
        first = _values(journey[0]) if journey else {}
        for name in self.choices.person_level:
            values.pop(name, None)
            values |= {name: first[name]} if name in first else {}
        return (
            json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False) if values else None
        )

    def _is_credited(self, conversion: Fields) -> bool:
        return self._anchor(conversion)["has_attribution_consent"] is not False

    @cached_property
    def _conversions(self) -> dict[str, Fields]:
        found: dict[str, Fields] = {}
        for event, person in sorted(self._goal_events, key=lambda each: when(each[0])):
            found.setdefault(conversion_id(event), self._conversion(event, person))
        rows = with_money(list(found.values()), self.rates)
        return {row["conversion_id"]: row for row in rows}

    @property
    def _goal_events(self) -> list[tuple[Fields, str]]:
        """Goal events with their person. Includes bot events that refund or cancel a person's order."""
        found = [(event, self.persons[event["event_id"]]) for event in self.events if event["goal"]]
        whose: dict[str, str] = {}
        for event, person in sorted(found, key=lambda each: when(each[0])):
            if event["goal"] == ORDER and event["order_id"]:
                whose.setdefault(event["order_id"], person)
        reversing = [event for event in self.of_bots if event["goal"] in REVERSALS]
        return found + [
            (event, whose[event["order_id"]]) for event in reversing if event["order_id"] in whose
        ]

    def _conversion(self, event: Fields, person: str) -> Fields:
        return {
            "conversion_id": conversion_id(event),
            **{
                name: event[name]
                for name in ("event_id", "visitor_id", "goal", "order_id", "refund_id", "value", "currency")
            },
            "person_id": person,
            "converted_at": event["event_time"],
            "reporting_value": worth(event["value"], event["currency"], event["event_time"], self.rates),
            "is_final": event["event_time"] <= self.watermark,
            "due_at": event["event_time"] if event["event_time"] > self.watermark else None,
            "url": event["url"],
            "referrer": event["referrer"],
            "visit": self._visit(event),
            "custom_dimensions": self._dimensions(event),
            **{
                f"has_{name}_consent": self.purposes.get(event["event_id"], {}).get(name)
                for name in ("analytics", "attribution")
            },
        }

    def _dimensions(self, event: Fields) -> str | None:
        """Of level `session`: device and system, those of the shipped rules. Bots' have none."""
        if event["event_id"] not in self.persons:
            return None
        own, session = _values(event), self.session_of(event)
        if session is not None:
            of_sessions = ("device", "system")
            own = _values(session) | {name: own[name] for name in own if name not in of_sessions}
        return json.dumps(own, sort_keys=True, separators=(",", ":"), ensure_ascii=False) if own else None

    def _visit(self, event: Fields) -> Fields | None:
        session = self.session_of(event)
        if session is None:
            return None
        return {
            "session_id": session["session_id"],
            "event_id": session["first_event_id"],
            "at": session["started_at"],
            "url": session["entry_url"],
            "referrer": session["entry_referrer"],
            "channel": session["channel"],
        }

    def _anchor(self, conversion: Fields) -> Fields:
        """The conversion that got the touches: itself, or for a refund or cancellation, the order."""
        if conversion["goal"] in REVERSALS and conversion["order_id"]:
            order = conversion_id({**conversion, "goal": ORDER})
            return self._conversions.get(order, conversion)
        return conversion

    def _journey(self, conversion: Fields) -> list[Fields]:
        """The touches that get a conversion's credit."""
        touches = [step for step in self._steps(conversion) if step["earns_credit"]]
        if self.choices.view_through:
            at = self._anchor(conversion)["converted_at"]
            views = view_touches(touches, at - 30 * DAY)
            touches += [{**view, "age": at - view["touched_at"]} for view in views]
        return sorted(touches, key=lambda touch: (touch["touched_at"], touch["touch_id"]))

    def _steps(self, conversion: Fields) -> list[Fields]:
        """All touches of the look-back window, including clicks that earn no credit."""
        anchor = self._anchor(conversion)
        at = anchor["converted_at"]
        touches = [
            {**touch, "age": at - touch["touched_at"]}
            for touch in self.touches_of.get(anchor["person_id"], [])
        ]
        if not self._is_credited(conversion):
            return []
        touches = [touch for touch in touches if touch["has_attribution_consent"]]
        return [touch for touch in touches if 0 <= touch["age"] <= 30 * DAY]

    @cached_property
    def touches_of(self) -> dict[str, list[Fields]]:
        """Touches by person; `view` only where the impression is the same person's."""
        of: dict[str, list[Fields]] = defaultdict(list)
        for touch in self.touches:
            person, view = self.persons[touch["event_id"]], touch["view"]
            own_view = view if view and self.persons[view["event_id"]] == person else None
            of[person].append({**touch, "view": own_view})
        return of

    @cached_property
    def attribution(self) -> list[Fields]:
        """gold.attribution."""
        return [
            row
            for each in self._conversions.values()
            if self._is_credited(each)
            for model in MODELS
            for row in self._share(each, model)
        ]

    def _share(self, conversion: Fields, model: str) -> list[Fields]:
        nothing = dict.fromkeys(("touch_id", "touched_at", *_CAMPAIGN, "promotion_id"))
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
                **{
                    name: touch[name]
                    for name in ("touch_id", "touched_at", "channel", *_CAMPAIGN, "promotion_id")
                },
                "credit": shares[number],
                "is_counted": conversion["is_counted"],
                "credited_value": values[number],
                "credited_reporting_value": reporting[number],
            }
            for number, touch in enumerate(journey or [{**nothing, "channel": "Direct"}])
        ]

    @cached_property
    def trails(self) -> list[Fields]:
        """gold.trails."""
        conversions = [each for each in self._conversions.values() if self._is_credited(each)]
        return [
            step
            for each in conversions
            for step in trail_of(
                each, self._anchor(each), self._steps(each), self._visited(self._anchor(each))
            )
        ]

    def _visited(self, conversion: Fields) -> list[Fields]:
        """The events of a conversion's session that may be used for it, in order; none without a session."""
        if conversion["visit"] is None:
            return []
        mine = [
            event
            for event in self._events_of[conversion["visitor_id"]]
            if self.grants("attribution", event["event_id"])
        ]
        of = [(event, self.session_of(event)) for event in mine if event["type"] in SESSION]
        mine_too = conversion["visit"]["session_id"]
        return sorted((event for event, its in of if its and its["session_id"] == mine_too), key=when)

    @cached_property
    def _events_of(self) -> dict[str, list[Fields]]:
        return _by_visitor(self.events)

    @cached_property
    def _clicks_of(self) -> dict[str, list[Fields]]:
        return _by_visitor(self.counted_clicks)

    def session_of(self, event: Fields) -> Fields | None:
        """The session of an event; None for a server's, and for a bot's."""
        if event["is_server_event"]:
            return None
        for session in self._sessions_of[event["visitor_id"]]:
            if session["started_at"] <= event["event_time"] <= session["ended_at"]:
                return session
        return None

    @cached_property
    def _sessions_of(self) -> dict[str, list[Fields]]:
        of: dict[str, list[Fields]] = defaultdict(list)
        for session in self.sessions:
            of[session["visitor_id"]].append(session)
        return of


def _by_visitor(events: list[Fields]) -> dict[str, list[Fields]]:
    of: dict[str, list[Fields]] = defaultdict(list)
    for event in events:
        of[event["visitor_id"]].append(event)
    return of


def _counted_under(conversion: Fields, journey: list[Fields]) -> str | None:
    """The channel of a conversion in windows."""
    if conversion["visit"]:
        return conversion["visit"]["channel"]
    return journey[-1]["channel"] if journey else None


def _own_channel(event: Fields) -> str:
    """The channel of a click or impression by its own campaign; Display instead of Direct."""
    of_campaign = event["channel"] if any(event[name] for name in _OWN_CAMPAIGN) else "Direct"
    return "Display" if of_campaign == "Direct" else of_campaign


def when(event: Fields) -> tuple[int, str]:
    return event["event_time"], event["event_id"]


def _values(row: Fields) -> dict[str, str]:
    return json.loads(row.get("custom_dimensions") or "{}")


def conversion_id(event: Fields) -> str:
    """The stable id of a conversion."""
    order, refund = event["order_id"], event["refund_id"]
    parts = [event["goal"], "order" if order else "event", order or event["event_id"]]
    if event["goal"] == REFUND:
        is_named = order and refund
        parts = [REFUND, "refund", order, refund] if is_named else [REFUND, "event", event["event_id"]]
    written = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:32]
