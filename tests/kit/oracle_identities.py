"""Test oracle for identities, bots and exchange rates, computed naively."""

import re
from collections import defaultdict
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import chain, groupby
from pathlib import Path

import yaml

from kit.oracle_wire import MINUTE, Fields, parse_object, parse_time, text
from kit.records import Stored

RATES_TOPIC = "exchange_rates"
_CONF = Path(__file__).resolve().parents[2] / "conf"
_BOTS = yaml.safe_load((_CONF / "bots.yml").read_text())
_NAMES = sorted(yaml.safe_load((_CONF / "crawlers.yml").read_text())["names"])
_SMALLEST = Decimal("0.0000000001")


def persons_of(events: list[Fields]) -> dict[str, str]:
    """The person of each event, by UID. Events are of any visitors, in any order."""
    persons = {}
    for visitor, theirs in _by_visitor(events).items():
        stretches = stretches_of(theirs)
        for number, stretch in enumerate(stretches):
            for place, event in enumerate(stretch):
                in_order = (
                    _users(stretch[: place + 1])[::-1],  # the latest at or before it
                    _users(stretch[place + 1 :]),  # the first after it in the stretch
                    _users(chain.from_iterable(stretches[:number]))[::-1],  # the end of the stretches before
                    _users(chain.from_iterable(stretches[number + 1 :])),  # the beginning of the next ones
                    [visitor],
                )
                persons[event["event_id"]] = next(chain.from_iterable(in_order))
    return persons


def stretches_of(events: list[Fields]) -> list[list[Fields]]:
    """One visitor's events in order, split where 30 minutes or more lie between two."""
    stretches: list[list[Fields]] = []
    for event in sorted(events, key=_when):
        if not stretches or event["event_time"] - stretches[-1][-1]["event_time"] >= 30 * MINUTE:
            stretches.append([])
        stretches[-1].append(event)
    return stretches


def identities_of(events: list[Fields]) -> list[Fields]:
    """silver.identities."""
    persons, found = persons_of(events), []
    for visitor, theirs in _by_visitor(events).items():
        if not _users(theirs):
            continue
        ordered = sorted(theirs, key=_when)
        spans = [list(span) for _, span in groupby(ordered, lambda event: persons[event["event_id"]])]
        for number, span in enumerate(spans):
            first = span[0] if number else None
            following = spans[number + 1][0] if number + 1 < len(spans) else None
            identified = next(event for event in span if event["user_id"])
            row = {
                "visitor_id": visitor,
                "user_id": persons[span[0]["event_id"]],
                "valid_from": first and first["event_time"],
                "valid_to": following and following["event_time"],
                "from_event_id": first and first["event_id"],
                "to_event_id": following and following["event_id"],
                "identified_at": identified["event_time"],
                "event_id": identified["event_id"],
            }
            found.append(row)
    return found


def _by_visitor(events: Iterable[Fields]) -> dict[str, list[Fields]]:
    of: dict[str, list[Fields]] = defaultdict(list)
    for event in events:
        of[event["visitor_id"]].append(event)
    return of


def _users(events: Iterable[Fields]) -> list[str]:
    """The user ids that events carry, in their order."""
    return [event["user_id"] for event in events if event["user_id"]]


def _when(event: Fields) -> tuple[int, str]:
    return event["event_time"], event["event_id"]


def bots_of(events: list[Fields]) -> list[Fields]:
    """silver.bots."""
    listed = {agent: listed_as(agent) for agent in {event["user_agent"] for event in events} if agent}
    found = []
    for visitor, mine in _by_visitor(events).items():
        reasons = []
        for event in mine:
            at = event["event_time"]
            if matched := listed.get(event["user_agent"]) or _unnamed(event):
                reasons.append((at, 0, "user_agent", matched))
            if len(mine) > 100:
                before = sum(at - MINUTE < other["event_time"] <= at for other in mine)
                if before > 100:
                    reasons.append((at, 1, "rate", ""))
        if reasons:
            since, _, reason, matched = min(reasons)
            row = {"visitor_id": visitor, "reason": reason, "since": since, "matched": matched or None}
            found.append(row)
    return found


def listed_as(agent: str) -> str | None:
    """What a user agent matches: the first pattern, else the first name; None for a person's."""
    agent = agent[:1000].lower()
    for part in _BOTS["not_read"]:
        agent = re.sub(part, " ", agent, flags=re.IGNORECASE | re.ASCII)
    for pattern in _BOTS["user_agents"]:
        if re.search(pattern, agent, re.IGNORECASE | re.ASCII):
            return str(pattern)
    named = (name for name in _NAMES if _is_named(agent, name))
    return next((name for name in named if name.strip("^$ ") not in _BOTS["ignored_names"]), None)


def _is_named(agent: str, name: str) -> bool:
    bare = name.strip("^$")
    is_short = bare.isalpha() and len(bare) <= 5
    at = agent.find(bare)
    while at >= 0:
        before, after = agent[at - 1 : at], agent[at + len(bare) :]
        is_word = not re.fullmatch("[a-z0-9]", before) and not (is_short and after[:1].isalpha())
        is_placed = (name[0] != "^" or at == 0) and (name[-1] != "$" or not after)
        if is_word and is_placed:
            return True
        at = agent.find(bare, at + 1)
    return False


def _unnamed(event: Fields) -> str | None:
    """An event of an access log without a user agent."""
    is_log = event.get("library") in _BOTS["without_user_agent"]
    return "no user agent" if is_log and event["user_agent"] in (None, "-") else None


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
