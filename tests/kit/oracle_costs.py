"""Test oracle for campaign costs, computed naively from the records in the order of bronze."""

from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from kit.oracle_identities import worth
from kit.oracle_wire import DAY, Fields, parse_object, parse_time, text
from kit.records import Stored

COSTS_TOPIC = "campaign_costs"
_NAMES = ("platform", "account", "campaign_name", "load_id")
_MAYBE = ("campaign_source", "campaign_medium", "ad_group")
_EPOCH = date(1970, 1, 1)


def cost_of(stored: Stored) -> Fields | str:
    """The row of silver.cost_records in a record, or its rejection reason."""
    if not stored.record.value:
        return "empty"
    body = parse_object(stored.record.value)
    if body is None:
        return "not_json"
    sent = {name: (text(body.get(name)) or "").strip() for name in (*_NAMES, *_MAYBE)}
    numbers = {name: _whole(body.get(name)) for name in ("clicks", "impressions", "load_row", "load_rows")}
    day, cost, loaded_at = (
        _day(body.get("day")),
        _money(body.get("cost")),
        parse_time(text(body.get("loaded_at"))),
    )
    code = text(body.get("currency")) or ""
    row, rows = numbers["load_row"] or 0, numbers["load_rows"] or 0
    lacking = not all(sent[name] for name in _NAMES) or None in (day, cost, loaded_at)
    if lacking or len(code) != 3 or not code.isalpha() or not 0 < row <= rows < 2**31:
        return "bad_cost"
    named = {name: value or None for name, value in sent.items()}
    return {**named, **numbers, "day": day, "cost": cost, "currency": code.upper(), "loaded_at": loaded_at}


def current_rows(records: list[Fields]) -> list[Fields]:
    """Of each account's day, the rows of its latest load of which every row has come."""
    found: list[Fields] = []
    for of in dict.fromkeys(_account_day(row) for row in records):
        theirs = [row for row in records if _account_day(row) == of]
        for load in sorted({(row["loaded_at"], row["load_id"]) for row in theirs}, reverse=True):
            rows = [row for row in theirs if (row["loaded_at"], row["load_id"]) == load]
            numbers = list(dict.fromkeys(row["load_row"] for row in rows))
            if len(numbers) == rows[0]["load_rows"]:
                found += [next(row for row in rows if row["load_row"] == each) for each in numbers]
                break
    return found


def costs_of(records: list[Fields], rates: list[Fields]) -> list[Fields]:
    """silver.campaign_costs in euros, of days in UTC, without renamed campaigns."""
    key = ("platform", "account", "day", "campaign_source", "campaign_medium", "campaign_name", "currency")
    found: dict[tuple[Any, ...], Fields] = {}
    for row in current_rows(records):
        of = tuple(row[name] for name in key)
        so_far = found.setdefault(
            of,
            {name: row[name] for name in (*key, "loaded_at", "load_id")}
            | {"sent_names": [row["campaign_name"]], "cost": Decimal(0), "clicks": None, "impressions": None},
        )
        so_far["cost"] += row["cost"]
        for name in ("clicks", "impressions"):
            if row[name] is not None:
                so_far[name] = (so_far[name] or 0) + row[name]
    for row in found.values():
        noon = (row["day"] - _EPOCH).days * DAY + DAY // 2
        row["reporting_cost"] = worth(row["cost"], row["currency"], noon, rates)
        row["rate_valid_from"] = next(
            (
                rate["valid_from"]
                for rate in rates
                if row["currency"] == rate["currency"] != "EUR"
                and rate["valid_from"] <= noon < (rate["valid_to"] or noon + 1)
            ),
            None,
        )
    return list(found.values())


def spent_by_campaign(costs: list[Fields]) -> dict[tuple[Any, ...], Decimal | None]:
    """Cost by day and campaign; None if a rate is missing."""
    found: dict[tuple[Any, ...], Decimal | None] = {}
    for row in costs:
        of = (row["day"], row["campaign_source"], row["campaign_medium"], row["campaign_name"])
        before, more = found.get(of, Decimal(0)), row["reporting_cost"]
        found[of] = None if before is None or more is None else before + more
    return found


def ratio(dividend: Decimal | Fraction | None, divisor: Decimal | Fraction | int | None) -> Decimal | None:
    """A quotient rounded half up, away from zero, to four decimals; None without both."""
    if dividend is None or not divisor:
        return None
    exact = Fraction(dividend) / Fraction(divisor)
    rounded = Decimal(int(abs(exact) * 10**4 + Fraction(1, 2))).scaleb(-4)
    return -rounded if exact < 0 else rounded


def _account_day(row: Fields) -> tuple[Any, ...]:
    return row["platform"], row["account"], row["day"]


def _whole(value: object) -> int | None:
    sent = text(value) or ""
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else None


def _day(value: object) -> date | None:
    sent = text(value) or ""
    try:
        day = date(*map(int, sent.split("-")))
    except (TypeError, ValueError, OverflowError):
        return None
    return day if day.isoformat() == sent and day >= _EPOCH else None


def _money(value: object) -> Decimal | None:
    try:
        exact = Decimal(text(value) or "")
        rounded = exact.quantize(Decimal("0.0001"), "ROUND_HALF_UP") + 0
    except InvalidOperation:
        return None
    return rounded if rounded.is_finite() and abs(rounded) < 10**14 else None
