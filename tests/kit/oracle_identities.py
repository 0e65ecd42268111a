"""Test oracle for identities, bots and exchange rates, computed naively."""

import re
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path

import yaml

from kit.oracle_wire import MINUTE, Fields, parse_object, parse_time, text
from kit.records import Stored

RATES_TOPIC = "exchange_rates"
_BOTS = Path(__file__).resolve().parents[2] / "conf" / "bots.yml"
_SMALLEST = Decimal("0.0000000001")


def identities_of(events: list[Fields]) -> list[Fields]:
    """silver.identities."""
    said = defaultdict(list)
    for event in events:
        if event["user_id"]:
            said[event["visitor_id"]].append(event)
    found = []
    for visitor, theirs in said.items():
        latest = max(theirs, key=lambda event: (event["event_time"], event["event_id"]))
        found.append(
            {
                "visitor_id": visitor,
                "user_id": latest["user_id"],
                "identified_at": latest["event_time"],
                "event_id": latest["event_id"],
                "user_ids": sorted({event["user_id"] for event in theirs}),
            }
        )
    return found


def bots_of(events: list[Fields]) -> list[Fields]:
    """silver.bots."""
    listed = _listed({event["user_agent"] or "" for event in events})
    theirs = defaultdict(list)
    for event in events:
        theirs[event["visitor_id"]].append(event)
    found = []
    for visitor, mine in theirs.items():
        reasons = []
        for event in mine:
            at = event["event_time"]
            if (event["user_agent"] or "") in listed:
                reasons.append((at, 0, "user_agent"))
            if len(mine) > 100:
                before = sum(at - MINUTE < other["event_time"] <= at for other in mine)
                if before > 100:
                    reasons.append((at, 1, "rate"))
        if reasons:
            since, _, reason = min(reasons)
            found.append({"visitor_id": visitor, "reason": reason, "since": since})
    return found


def _listed(agents: set[str]) -> set[str]:
    """The user agents that match the bot list."""
    names = [
        re.compile(each, re.IGNORECASE | re.ASCII)
        for each in yaml.safe_load(_BOTS.read_text())["user_agents"]
    ]
    return {agent for agent in agents if any(name.search(agent) for name in names)}


def rate_of(stored: Stored) -> Fields | str:
    """The exchange rate in a record, or its rejection reason."""
    if not stored.record.value:
        return "empty"
    body = parse_object(stored.record.value)
    if body is None:
        return "not_json"
    currency = text(body.get("currency")) or ""
    rate, valid_from = _number(text(body.get("rate"))), parse_time(text(body.get("valid_from")))
    if not re.fullmatch("[A-Za-z]{3}", currency) or not rate or valid_from is None:
        return "bad_rate"
    return {"currency": currency.upper(), "rate": rate, "valid_from": valid_from}


def rates_of(reported: list[Fields]) -> list[Fields]:
    """silver.exchange_rates, from the parsed rates in the order of bronze."""
    by_start: dict[tuple[str, int], Fields] = {}
    for rate in reported:
        key = rate["currency"], rate["valid_from"]
        by_start[key] = {**rate, "records": by_start.get(key, {"records": 0})["records"] + 1}
    for (currency, start), rate in by_start.items():
        later = [at for other, at in by_start if other == currency and at > start]
        rate["valid_to"] = min(later, default=None)
    return list(by_start.values())


def worth(value: Decimal | None, currency: str | None, at: int, rates: list[Fields]) -> Decimal | None:
    """A value in euros, at the rate valid at a time; None without a rate."""
    code = (currency or "").upper()
    if value is None or code == "EUR":
        return value if code == "EUR" else None
    for rate in rates:
        if rate["currency"] == code and rate["valid_from"] <= at and (rate["valid_to"] or at + 1) > at:
            exact = (value * rate["rate"]).quantize(Decimal("0.0001"), ROUND_HALF_UP) + 0
            return exact if abs(exact) < 10**14 else None
    return None


def _number(written: str | None) -> Decimal | None:
    """A positive number with at most nine integer digits, rounded to ten decimals; else None."""
    try:
        exact = Decimal((written or "").strip())
    except InvalidOperation:
        return None
    if not exact.is_finite() or not -12 < exact.adjusted() < 9:
        return None
    rounded = exact.quantize(_SMALLEST, ROUND_HALF_UP)
    return rounded if 0 < rounded < 10**9 else None
