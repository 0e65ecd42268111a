"""Generated silver and gold tables of a shop for a day or two: seeded and consistent."""

import math
import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Row = dict[str, Any]

_CENTS = Decimal("0.0001")
_GAP = timedelta(minutes=30)
_WATERMARK_DELAY = timedelta(minutes=10)
_PAGES = ("/", "/new", "/sale", "/shoes/trail-runner", "/shoes/city-walker", "/bags/weekender", "/about")
# channel, source, medium, campaign, weight, probability of an order per visit
_SOURCES = (
    ("Direct", None, None, None, 26, 0.05),
    ("Organic Search", None, None, None, 24, 0.04),
    ("Paid Search", "google", "cpc", "brand_search", 14, 0.09),
    ("Paid Search", "bing", "cpc", "trail_running", 6, 0.06),
    ("Email", "newsletter", "email", "november_letter", 9, 0.12),
    ("Email", "newsletter", "email", "back_in_stock", 3, 0.15),
    ("Paid Social", "instagram", "paid_social", "winter_looks", 10, 0.03),
    ("Display", "adnet", "banner", "winter_sale", 5, 0.03),
    ("Affiliates", "shoeblog", "affiliate", "gear_reviews", 4, 0.05),
    ("Referral", None, None, None, 5, 0.02),
)


@dataclass
class Sample:
    """Rows by table, and their watermark."""

    watermark: datetime
    tables: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))


def sample_warehouse(until: datetime, hours: int, visits: int, seed: int = 7) -> Sample:
    """Generate silver and gold.

    Args:
        until: upper limit of event times (UTC).
        hours: visits start at most so many hours before `until`.
        visits: approximate number of sessions.
        seed: the random seed.
    """
    chance = random.Random(seed)
    sample = Sample(until - _WATERMARK_DELAY)
    last_seen: dict[str, datetime] = {}
    touches: dict[str, list[Row]] = defaultdict(list)
    for start in _arrivals(chance, until, hours, visits):
        visitor = _visitor(chance, start, last_seen)
        session = _visit(chance, sample, visitor, start, until, len(sample.tables["silver.sessions"]))
        last_seen[visitor] = session["ended_at"]
        touches[visitor].append(session)
        if sample.tables["silver.events"][-1]["goal"]:
            _convert(sample, sample.tables["silver.events"][-1], touches[visitor])
    sample.tables["gold.traffic"] = traffic_of(sample)
    latest = max(event["event_time"] for event in sample.tables["silver.events"])
    sample.watermark = latest - _WATERMARK_DELAY
    return sample


def ledger_rows(
    at: datetime, watermark: datetime | None, batch_id: int = 0, position: datetime | None = None
) -> list[Row]:
    """Ledger rows of one micro-batch per job that ended at a time; `position` is publish's, if it lags."""
    return [
        {
            "job": job,
            "batch_id": batch_id,
            "input_rows": 1,
            "output_rows": 1,
            "started_at": at - timedelta(seconds=2),
            "seconds": 2.0,
            "watermark": watermark,
            "position": position if job == "publish" and position else at,
        }
        for job in ("ingest", "refine", "publish")
    ]


def traffic_of(sample: Sample) -> list[Row]:
    """gold.traffic by minute over all channels, counted row by row."""
    windows: dict[datetime, Row] = defaultdict(lambda: defaultdict(int))
    visitors: dict[datetime, set[str]] = defaultdict(set)
    for event in sample.tables["silver.events"]:
        minute = event["event_time"].replace(second=0, microsecond=0)
        windows[minute]["events"] += 1
        windows[minute]["page_views"] += event["role"] == "page_view"
        visitors[minute].add(event["visitor_id"])
    for session in sample.tables["silver.sessions"]:
        windows[session["started_at"].replace(second=0, microsecond=0)]["sessions"] += 1
    for conversion in sample.tables["gold.conversions"]:
        minute = conversion["converted_at"].replace(second=0, microsecond=0)
        windows[minute]["conversions"] += 1
        windows[minute]["reporting_value"] += conversion["reporting_value"] or Decimal(0)
    return [
        traffic_row(minute, sample.watermark, visitors=len(visitors[minute]), **window)
        for minute, window in sorted(windows.items())
    ]


def traffic_row(minute: datetime, watermark: datetime, **counts: Any) -> Row:
    """One row of gold.traffic for a minute."""
    end = minute + timedelta(minutes=1)
    nothing = dict.fromkeys(("page_views", "sessions", "impressions", "clicks", "searches", "conversions"), 0)
    return {
        "window_kind": "1 minute",
        "window_start": minute,
        "window_end": end,
        "reporting_value": Decimal(0),
        "pane": "on_time" if end <= watermark else "early",
        "revision": 0,
        "is_complete": end <= watermark,
        **nothing,
        **counts,
    }


def _arrivals(chance: random.Random, until: datetime, hours: int, visits: int) -> list[datetime]:
    """Start times of visits in order: many in the evening, few at night."""
    starts: list[datetime] = []
    while len(starts) < visits:
        start = until - timedelta(hours=hours) * chance.random()
        hour = start.hour + start.minute / 60
        if chance.random() < 0.55 - 0.45 * math.cos((hour - 5) / 24 * 2 * math.pi):
            starts.append(start)
    return sorted(starts)


def _visitor(chance: random.Random, start: datetime, last_seen: dict[str, datetime]) -> str:
    if last_seen and chance.random() < 0.35:
        visitor = chance.choice(list(last_seen))
        if start - last_seen[visitor] > _GAP:
            return visitor
    return f"v-{chance.getrandbits(40):010x}"


def _visit(
    chance: random.Random, sample: Sample, visitor: str, start: datetime, until: datetime, number: int
) -> Row:
    """Add the events and the session of a visit."""
    channel, source, medium, campaign, _, rate = chance.choices(_SOURCES, [s[4] for s in _SOURCES])[0]
    at, views, events = start, 0, []
    for step in range(1 + min(int(chance.expovariate(0.35)), 20)):
        at = start if step == 0 else at + timedelta(seconds=chance.expovariate(1 / 40))
        if at > until:
            break
        views += 1
        events.append(
            _event(f"e-{number}-{step}", visitor, at, "https://shop.example" + chance.choice(_PAGES))
        )
    ordered = at + timedelta(seconds=20)
    if ordered <= until and chance.random() < rate:
        total = Decimal(f"{chance.lognormvariate(4, 0.6):.2f}")
        currency = chance.choices(("EUR", "USD", "GBP", "CHF"), (70, 15, 10, 5))[0]
        goal = {"type": "track", "name": "Order Completed", "role": "goal", "goal": "Order Completed"}
        order = {"order_id": f"o-{number}", "value": total, "currency": currency}
        events.append({**_event(f"e-{number}-o", visitor, ordered, None), **goal, **order})
    session = {
        "session_id": f"s-{number:06}",
        "visitor_id": visitor,
        "started_at": start,
        "ended_at": events[-1]["event_time"],
        "events": len(events),
        "page_views": views,
        "entry_url": events[0]["url"],
        "campaign_source": source,
        "campaign_medium": medium,
        "campaign_name": campaign,
        "channel": channel,
        "is_open": events[-1]["event_time"] + _GAP > sample.watermark,
    }
    sample.tables["silver.events"] += events
    sample.tables["silver.sessions"].append(session)
    return session


def _event(event_id: str, visitor: str, at: datetime, url: str | None) -> Row:
    return {
        "event_id": event_id,
        "type": "page",
        "role": "page_view",
        "visitor_id": visitor,
        "event_time": at,
        "url": url,
        "goal": None,
    }


def _convert(sample: Sample, event: Row, touches: list[Row]) -> None:
    """Add a conversion, and its credit to earlier sessions by three models."""
    rates = {"EUR": Decimal(1), "USD": Decimal("0.92"), "GBP": Decimal("1.17")}
    rate = rates.get(event["currency"])
    value = None if rate is None else (event["value"] * rate).quantize(_CENTS, ROUND_HALF_UP)
    conversion = {
        "conversion_id": f"c-{event['order_id']}",
        "event_id": event["event_id"],
        "visitor_id": event["visitor_id"],
        "person_id": event["visitor_id"],
        "goal": event["goal"],
        "order_id": event["order_id"],
        "converted_at": event["event_time"],
        "value": event["value"],
        "currency": event["currency"],
        "reporting_value": value,
        "touches": len(touches),
        "is_final": event["event_time"] <= sample.watermark,
        "due_at": event["event_time"] if event["event_time"] > sample.watermark else None,
    }
    sample.tables["gold.conversions"].append(conversion)
    last = len(touches) - 1
    for model in ("first", "last", "linear"):
        chosen = {"first": [0], "last": [last], "linear": range(len(touches))}[model]
        shares = _shares(value, len(chosen))
        for index, share in zip(chosen, shares, strict=True):
            credit = {"position": index + 1, "credit": 1 / len(chosen), "credited_reporting_value": share}
            sample.tables["gold.attribution"].append(_credit(conversion, model, touches[index]) | credit)


def _credit(conversion: Row, model: str, touch: Row) -> Row:
    campaign = {key: touch[key] for key in ("channel", "campaign_source", "campaign_medium", "campaign_name")}
    return {
        "conversion_id": conversion["conversion_id"],
        "model": model,
        "touch_id": touch["session_id"],
        "touched_at": touch["started_at"],
        "converted_at": conversion["converted_at"],
        **campaign,
    }


def _shares(value: Decimal | None, parts: int) -> list[Decimal | None]:
    """Split a value into equal parts with four decimals. The last part gets the rounding rest."""
    if value is None:
        return [None] * parts
    share = (value / parts).quantize(_CENTS, ROUND_HALF_UP)
    return [*[share] * (parts - 1), value - share * (parts - 1)]
