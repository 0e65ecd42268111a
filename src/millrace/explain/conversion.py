"""Explains a conversion: its steps, touches and credit, from the tables of a home or a catalog."""

from dataclasses import dataclass, field
from datetime import datetime

import narwhals as nw

from folds.persons.models import MODELS
from folds.persons.refunds import load_order_rules
from folds.rule_numbers import RuleNumbers, load_rule_numbers
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.tables.table_scan import Row, rows_of, scan


@dataclass(frozen=True)
class ConversionExplanation:
    """A conversion with its rows of gold.

    Args:
        conversion: its row of gold.conversions.
        anchor: the row whose touches count: the conversion, or the order that it reverses.
        trail: rows of gold.trails, in order.
        numbers: numbers of the rules in force.
        credits: by model, rows of gold.attribution, in order of position.
        touches: by touch_id, rows of gold.touches.
        visits: rows of silver.sessions: the visit of the anchor, then those that it continues, one by one.
        rate: the row of silver.exchange_rates that `rate_valid_from` names.
    """

    conversion: Row
    anchor: Row
    trail: list[Row]
    numbers: RuleNumbers
    credits: dict[str, list[Row]]
    touches: dict[str, Row] = field(default_factory=dict)
    visits: list[Row] = field(default_factory=list)
    rate: Row | None = None


def explain_conversion(settings: Settings, wanted: str) -> ConversionExplanation:
    """Find a conversion, and the rows that explain it.

    Args:
        settings: the settings in force.
        wanted: a conversion_id, an order, or the UID of the event; else the beginning of a conversion_id.

    Raises:
        MillraceError: if no conversion matches, or more than one.
    """
    conversion = _find(settings, wanted)
    mine = nw.col("conversion_id") == conversion["conversion_id"]
    credits_ = _rows(settings, "gold.attribution", mine, "position")
    ids = [row["touch_id"] for row in credits_ if row["touch_id"]]
    touches = _rows(settings, "gold.touches", nw.col("touch_id").is_in(ids), "touched_at")
    anchor = _anchor(settings, conversion)
    return ConversionExplanation(
        conversion=conversion,
        anchor=anchor,
        trail=_rows(settings, "gold.trails", mine, "step"),
        numbers=load_rule_numbers(settings.conf),
        credits={model: [row for row in credits_ if row["model"] == model] for model in MODELS},
        touches={row["touch_id"]: row for row in touches},
        visits=_visits(settings, anchor),
        rate=_rate(settings, conversion),
    )


def _find(settings: Settings, wanted: str) -> Row:
    any_of, whole = nw.col("conversion_id").str.starts_with(wanted), ("conversion_id", "order_id", "event_id")
    for name in whole:
        any_of |= (nw.col(name) == wanted).fill_null(value=False)
    found = _rows(settings, "gold.conversions", any_of, "converted_at")
    found = [row for row in found if wanted in map(row.get, whole)] or found
    if not found:
        raise MillraceError(
            f"there is no conversion {wanted!r}",
            "Name a conversion_id, an order or a UID: "
            '`millrace sql "SELECT conversion_id, goal, order_id FROM gold.conversions LIMIT 9"` lists some',
        )
    if len(found) > 1:
        listed = "; ".join(f"{row['conversion_id']} ({row['goal']})" for row in found[:5])
        raise MillraceError(f"{wanted!r} is {len(found):,} conversions", f"Name one of them: {listed}")
    return found[0]


def _anchor(settings: Settings, conversion: Row) -> Row:
    goal = load_order_rules(settings.conf).order_goal(conversion["goal"])
    if goal is None or conversion["order_id"] is None:
        return conversion
    same = (nw.col("goal") == goal) & (nw.col("order_id") == conversion["order_id"])
    orders = _rows(settings, "gold.conversions", same, "converted_at")
    return orders[0] if orders else conversion


def _visits(settings: Settings, anchor: Row) -> list[Row]:
    if not anchor["visit"]:
        return []
    mine = nw.col("visitor_id") == anchor["visitor_id"]
    sessions = {row["session_id"]: row for row in _rows(settings, "silver.sessions", mine, "started_at")}
    found: list[Row] = []
    next_id = anchor["visit"]["session_id"]
    while (session := sessions.pop(next_id, None)) is not None:
        found.append(session)
        next_id = session.get("continues")
    return found


def _rate(settings: Settings, conversion: Row) -> Row | None:
    since: datetime | None = conversion.get("rate_valid_from")
    if since is None:
        return None
    named = (nw.col("currency") == conversion["currency"].upper()) & (nw.col("valid_from") == since)
    rates = _rows(settings, "silver.exchange_rates", named, "valid_from")
    return rates[0] if rates else None


def _rows(settings: Settings, table: str, condition: nw.Expr, order: str) -> list[Row]:
    rows = scan(settings, table)
    return [] if rows is None else rows_of(rows.filter(condition).sort(order))
