"""Test oracle for gold.sketches: exact values in place of sketches."""

from collections import defaultdict
from datetime import date
from typing import Any

from folds.sketches.value_sketch import quantiles
from folds.sketches.visitor_sketch import estimate_visitors
from kit.oracle_gold import Gold
from kit.oracle_windows import campaign_of, day_of
from kit.oracle_wire import Fields

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")


def exact_sketches(gold: Gold) -> list[Fields]:
    """Rows of gold.sketches with visitor counts, and minimum and maximum values, in place of sketches."""
    sessions: dict[tuple[Any, ...], list[Fields]] = defaultdict(list)
    counted = [each for each in gold.sessions if gold.grants("analytics", each["first_event_id"])]
    for session in counted:
        sessions[_group(day_of(session["started_at"]), session)].append(session)
    orders = {
        each["conversion_id"]
        for each in gold.conversions
        if each["goal"] == "Order Completed" and gold.grants("analytics", each["event_id"])
    }
    values: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in gold.attribution:
        is_order = row["conversion_id"] in orders and row["is_counted"] and row["model"] == "last_non_direct"
        if is_order and row["credit"] > 0 and row["credited_reporting_value"] is not None:
            values[_group(day_of(row["converted_at"]), row)].append(row["credited_reporting_value"])
    return [
        {
            **dict(zip(("day", "channel", *_CAMPAIGN), group, strict=True)),
            "sessions": len(sessions[group]),
            "visitors": len({session["visitor_id"] for session in sessions[group]}),
            "orders": len(values[group]),
            "order_values": [float(pick(values[group])) for pick in (min, max)] if values[group] else None,
        }
        for group in {*sessions, *values}
    ]


def _group(day: date, row: Fields) -> tuple[Any, ...]:
    return (day, row["channel"], *campaign_of({**row, "promotion_id": None}))


def read_sketches(row: dict[str, Any]) -> dict[str, Any]:
    """A row of gold.sketches in the format of `exact_sketches`. Sketches of few values are exact."""
    values = row["order_values"]
    found = quantiles([bytes(values)], (0.0, 1.0)) if values is not None else None
    return {
        **row,
        "visitors": round(estimate_visitors([bytes(row["visitors"])]).visitors),
        "order_values": [each.value for each in found] if found else None,
    }
