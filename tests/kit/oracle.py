"""The test oracle: expected tables, computed naively from bronze in one pass and with plain loops.

Shares no code with `src/`.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from kit import oracle_joins, oracle_results
from kit.oracle_consents import BY_DEFAULT, ConsentChoices, consents_of, stated
from kit.oracle_costs import COSTS_TOPIC, cost_of, costs_of, spent_by_campaign
from kit.oracle_dimensions import CHANGES_TOPIC, change_of, items_of, versions_of
from kit.oracle_gold import Gold
from kit.oracle_identities import RATES_TOPIC, bots_of, identities_of, rate_of, rates_of
from kit.oracle_persons import order_comparisons_of, persons_of, timeline_of
from kit.oracle_promotions import DEFAULTS, Choices
from kit.oracle_times import record_time
from kit.oracle_watermark import Promised, Step, watermark_after
from kit.oracle_windows import Windows
from kit.oracle_wire import (
    DAY,
    MINUTE,
    TYPES,
    Fields,
    micros,
    parse_object,
    parse_time,
    read_fields,
    read_times,
)
from kit.records import Stored

GAP = 30 * MINUTE
DELAY = 10 * MINUTE
_ENTRY = (
    *("campaign_source", "campaign_medium", "campaign_name", "campaign_term", "campaign_content"),
    *("campaign_id", "click_id", "click_id_kind", "channel"),
)


@dataclass
class Oracle:
    """The expected tables, and the watermark; None before the first event, heartbeat or promise."""

    events: list[Fields] = field(default_factory=list)
    rejected: list[Fields] = field(default_factory=list)
    duplicates: list[Fields] = field(default_factory=list)
    told_rates: list[Fields] = field(default_factory=list)
    cost_records: list[Fields] = field(default_factory=list)
    shop_changes: list[Fields] = field(default_factory=list)
    rejected_changes: list[Fields] = field(default_factory=list)
    heartbeats: int = 0
    watermark: int | None = None
    steps: list[Step] = field(default_factory=list)
    choices: Choices = DEFAULTS
    consent: ConsentChoices = BY_DEFAULT

    @classmethod
    def over(cls, stored: Iterable[Stored], consent: ConsentChoices = BY_DEFAULT) -> "Oracle":
        """The oracle after these records."""
        oracle = cls(consent=consent)
        first: dict[str, Fields] = {}
        for each in sorted(stored, key=_place):
            oracle._take(each, first)
        oracle.watermark = watermark_after(oracle.steps, DELAY)
        return oracle

    def _take(self, stored: Stored, first: dict[str, Fields]) -> None:
        place = {"topic": stored.record.topic, "partition": stored.record.partition, "offset": stored.offset}
        if stored.record.topic in (RATES_TOPIC, COSTS_TOPIC):
            self._take_side_input(stored, place)
            return
        if stored.record.topic == CHANGES_TOPIC:
            self._take_change(stored, place)
            return
        read = read_record(stored)
        if read.promise or read.heartbeat is not None:
            self.heartbeats += 1
            self._count(stored, read.heartbeat, read.promise)
            return
        if read.reason:
            self.rejected.append({"reason": read.reason, "value": stored.record.value, **place})
            return
        uid = read.fields["event_id"]
        if uid in first:
            winner = {f"first_{name}": first[uid][name] for name in place}
            self.duplicates.append({"event_id": uid, **place, **winner})
            return
        first[uid] = place
        self.events.append({**read.fields, **place})
        self._count(stored, read.fields["event_time"])

    def _take_side_input(self, stored: Stored, place: Fields) -> None:
        is_rate = stored.record.topic == RATES_TOPIC
        read = rate_of(stored) if is_rate else cost_of(stored)
        if isinstance(read, str):
            self.rejected.append({"reason": read, "value": stored.record.value, **place})
        else:
            (self.told_rates if is_rate else self.cost_records).append({**read, **place})

    def _take_change(self, stored: Stored, place: Fields) -> None:
        read = change_of(stored)
        if isinstance(read, str):
            self.rejected_changes.append({"reason": read, "value": stored.record.value, **place})
        elif read is not None:
            self.shop_changes.append({**read, **place})

    def _count(self, stored: Stored, time: int | None, promise: Promised | None = None) -> None:
        stamp, *place = _place(stored)
        sent = record_time(stored.record.timestamp, stored.ingested_at)
        self.steps.append(Step((stamp, sent, *place), time, promise))

    @property
    def sessions(self) -> list[Fields]:
        """silver.sessions."""
        by_visitor = defaultdict(list)
        for event in self.events:
            if event["type"] in ("page", "screen", "track") and not event["is_server_event"]:
                by_visitor[event["visitor_id"]].append(event)
        found = []
        for events in by_visitor.values():
            events.sort(key=lambda event: (event["event_time"], event["event_id"]))
            theirs: list[Fields] = []
            session = [events[0]]
            for event in events[1:]:
                if event["event_time"] - session[-1]["event_time"] >= GAP:
                    theirs.append(self._session(session, theirs))
                    session = []
                session.append(event)
            theirs.append(self._session(session, theirs))
            found += theirs
        return found

    def _session(self, events: list[Fields], earlier: list[Fields]) -> Fields:
        first, last = events[0], events[-1]
        before = earlier[-1] if earlier and _comes_back(first, earlier[-1]) else None
        return {
            "session_id": session_id(first["visitor_id"], first["event_time"]),
            "visitor_id": first["visitor_id"],
            "started_at": first["event_time"],
            "ended_at": last["event_time"],
            "events": len(events),
            "page_views": sum(event["role"] == "page_view" for event in events),
            "entry_url": first["url"],
            "exit_url": last["url"],
            "entry_referrer": first["referrer"],
            **{name: (before or first)[name] for name in _ENTRY},
            "continues": before["session_id"] if before else None,
            "has_internal_referrer": first["has_internal_referrer"],
            "custom_dimensions": first.get("custom_dimensions"),
            "is_open": self.watermark < last["event_time"] + GAP,
            "due_at": last["event_time"] + GAP if self.watermark < last["event_time"] + GAP else None,
            "first_event_id": first["event_id"],
            "last_event_id": last["event_id"],
        }

    @property
    def impressions(self) -> list[Fields]:
        """silver.impressions."""
        return oracle_joins.impressions(self.events, self.watermark or 0)

    @property
    def searches(self) -> list[Fields]:
        """silver.searches."""
        return oracle_joins.searches(self.events, self.watermark or 0)

    @property
    def search_results(self) -> list[Fields]:
        """silver.search_results."""
        return oracle_results.search_results(self.events, self.watermark or 0)

    @property
    def identities(self) -> list[Fields]:
        """silver.identities."""
        return identities_of(self.events)

    @property
    def consents(self) -> list[Fields]:
        """silver.consents."""
        return consents_of(self.events, self.consent)

    @property
    def bots(self) -> list[Fields]:
        """silver.bots."""
        return bots_of(self.events)

    @property
    def rates(self) -> list[Fields]:
        """silver.exchange_rates."""
        return rates_of(self.told_rates)

    @property
    def campaign_costs(self) -> list[Fields]:
        """silver.campaign_costs."""
        return costs_of(self.cost_records, self.rates)

    def versions_of(self, dimension: str) -> list[Fields]:
        """Rows of a dimension of the shop's database."""
        return versions_of(self.shop_changes, dimension)

    @property
    def conversion_items(self) -> list[Fields]:
        """gold.conversion_items."""
        return items_of(self.gold.conversions, self.gold.trails, self.events, self.shop_changes)

    @property
    def persons(self) -> list[Fields]:
        """gold.persons."""
        return persons_of(self.gold)

    @property
    def timeline(self) -> list[Fields]:
        """gold.visitor_timeline."""
        customers, orders = (self.versions_of(f"silver.{name}") for name in ("customers", "orders"))
        return timeline_of(self.events, self.identities, customers, orders)

    @property
    def order_comparisons(self) -> list[Fields]:
        """gold.order_comparisons."""
        return order_comparisons_of(self.events, self.versions_of("silver.orders"))

    @cached_property
    def gold(self) -> Gold:
        """Expected rows of gold, without bots."""
        bots = {bot["visitor_id"] for bot in self.bots}
        events, sessions = (
            [row for row in rows if row["visitor_id"] not in bots] for rows in (self.events, self.sessions)
        )
        of_bots = [event for event in self.events if event["visitor_id"] in bots]
        return Gold(events, sessions, self.watermark or 0, self.rates, of_bots, self.choices, self.consent)

    @cached_property
    def windows(self) -> Windows:
        """Expected aggregates in gold over all visitors, without bots."""
        bots = {bot["visitor_id"] for bot in self.bots}
        searches, results = (
            [row for row in rows if row["visitor_id"] not in bots]
            for rows in (self.searches, self.search_results)
        )
        return Windows(self.gold, searches, results, spent_by_campaign(self.campaign_costs))


def _comes_back(first: Fields, before: Fields) -> bool:
    """Whether a session with this first event continues the one before it."""
    named = [first[name] for name in ("campaign_source", "campaign_medium", "campaign_name", "campaign_id")]
    if any(named) or first["click_id"] or not first["has_internal_referrer"]:
        return False
    return bool(first["event_time"] - before["ended_at"] <= DAY)


def session_id(visitor: str, started_at: int) -> str:
    """The stable id of a session."""
    return hashlib.sha256(f"{started_at}|{visitor}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Read:
    """One parsed record: a promise, a heartbeat's time, or an event's fields and its rejection reason."""

    heartbeat: int | None = None
    promise: Promised | None = None
    reason: str | None = None
    fields: Fields = field(default_factory=dict)


def read_record(stored: Stored) -> Read:
    """Parse one record."""
    promise = _promise(stored)
    if promise is not None:
        return Read(promise=promise)
    beat = _heartbeat(stored)
    if beat is not None:
        return Read(heartbeat=beat)
    body = parse_object(stored.record.value or b"")
    context = (body or {}).get("context")
    consent = context.get("consent") if isinstance(context, dict) else None
    fields = {**read_fields(body or {}), **stated(consent)}
    return Read(reason=_reason(stored, body, fields), fields={**fields, **read_times(body or {}, stored)})


def _place(stored: Stored) -> tuple[int, str, int, int]:
    return micros(stored.ingested_at), stored.record.topic, stored.record.partition, stored.offset


def _heartbeat(stored: Stored) -> int | None:
    if stored.record.value is not None:
        return None
    texts = [value for key, value in stored.record.headers if key == "heartbeat"]
    return parse_time(texts[0].decode(errors="replace")) if texts else None


def _promise(stored: Stored) -> Promised | None:
    if stored.record.value is not None:
        return None
    sent = {}
    for key, value in stored.record.headers:
        sent.setdefault(key, value)
    try:
        source, promised = sent["source"].decode("utf-8"), sent["promise"].decode(errors="replace")
    except (KeyError, UnicodeDecodeError):
        return None
    at = parse_time(promised)
    if source.rsplit("@", 1)[0] == "" or len(source) > 256 or (at is None and promised != "end"):
        return None
    return source, at


def _reason(stored: Stored, body: Fields | None, fields: Fields) -> str | None:
    uid = fields["event_id"]
    cases = [
        ("empty", not stored.record.value),
        ("not_json", body is None),
        ("no_message_id", uid is None),
        ("bad_message_id", uid is not None and not 1 <= len(uid) <= 256),
        ("no_type", fields["type"] is None),
        ("unknown_type", fields["type"] not in TYPES),
        ("no_identity", fields["visitor_id"] is None),
    ]
    return next((reason for reason, applies in cases if applies), None)
