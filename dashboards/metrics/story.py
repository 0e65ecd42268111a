"""One conversion: its trail, its touches, and their credit by model."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from query_scope import MODELS
from tables.query import Query
from tables.table_cache import Ask

Row = dict[str, Any]

_CONVERSION = (
    "conversion_id",
    "event_id",
    "visitor_id",
    "person_id",
    "goal",
    "order_id",
    "refund_id",
    "over_refunded",
    "is_credited",
    "converted_at",
    "value",
    "value_sent",
    "currency",
    "reporting_value",
    "rate_valid_from",
    "touches",
    "is_final",
)
_STEP = ("step", "kind", "event_id", "at", "url", "referrer", "promotion_id", "matched_on")
_CREDIT = (
    "model",
    "position",
    "touch_id",
    "touched_at",
    "channel",
    "campaign_name",
    "promotion_id",
    "credit",
    "credited_value",
    "credited_reporting_value",
)


@dataclass(frozen=True)
class Story:
    """A conversion, with its rows in gold.

    Args:
        conversion: its row of gold.conversions.
        anchor: the conversion that got the touches: itself, or for a refund or cancellation, the order.
        trail: rows of gold.trails, in order.
        credits: rows of gold.attribution by model, in order of position.
        kinds: kind of each touch: `click`, `visit`, `campaign` or `view`.
        campaigns: UIDs of the events that are touches as campaigns inside a visit.
        continues: whether the visit of the trail continues the one before it.
        rate: the row of silver.exchange_rates that `rate_valid_from` names; None if there is none.
    """

    conversion: Row
    anchor: Row
    trail: list[Row] = field(default_factory=list)
    credits: dict[str, list[Row]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    campaigns: frozenset[str] = frozenset()
    continues: bool = False
    rate: Row | None = None

    @property
    def touches(self) -> list[Row]:
        """The credited touches. They are the same in each model."""
        rows = next((rows for rows in self.credits.values() if rows), [])
        return [row for row in rows if row["touch_id"]]


def find(ask: Ask, wanted: str) -> list[Row]:
    """Find at most five conversions by id, else by order, by UID of the event, or by prefix of the id."""
    if not wanted:
        return []
    query = Query("gold.conversions", _CONVERSION, order=("converted_at",), limit=5)
    whole = (("conversion_id", "="), ("order_id", "="), ("event_id", "="))
    for column, op in (*whole, ("conversion_id", "starts")):
        if found := ask(query.only(column, op, wanted)).to_dicts():  # type: ignore[arg-type]
            return found
    return []


def explain(ask: Ask, conversion_id: str) -> Story | None:
    """Everything that explains a conversion; None if the id does not exist."""
    mine = Query("gold.conversions", _CONVERSION).only("conversion_id", "=", conversion_id)
    conversion = _first(ask(mine).to_dicts())
    if conversion is None:
        return None
    at = conversion["converted_at"]
    steps = Query("gold.trails", _STEP, order=("step",)).only("conversion_id", "=", conversion_id)
    trail = ask(steps.within("converted_at", at, _just_after(at))).to_dicts()
    anchor = _anchor(ask, conversion, trail)
    rows = Query("gold.attribution", _CREDIT, order=("position",)).only("conversion_id", "=", conversion_id)
    credits_ = ask(rows.within("converted_at", at, _just_after(at))).to_dicts()
    of_model = {model: [row for row in credits_ if row["model"] == model] for model in MODELS}
    kinds, campaigns = _kinds(ask, credits_)
    return Story(
        conversion=conversion,
        anchor=anchor,
        trail=trail,
        credits=of_model,
        kinds=kinds,
        campaigns=campaigns,
        continues=_continues(ask, trail),
        rate=_rate(ask, conversion),
    )


def _kinds(ask: Ask, credits_: list[Row]) -> tuple[dict[str, str], frozenset[str]]:
    """The kind of each credited touch, and UIDs of campaigns. Views have no row in gold.touches."""
    touched = {row["touch_id"]: row["touched_at"] for row in credits_ if row["touch_id"]}
    if not touched:
        return {}, frozenset()
    query = Query("gold.touches", ("touch_id", "kind", "event_id")).only("touch_id", "in", tuple(touched))
    first, last = min(touched.values()), max(touched.values())
    known = list(ask(query.within("touched_at", first, _just_after(last))).iter_rows())
    kinds = {touch: kind for touch, kind, _ in known}
    return dict.fromkeys(touched, "view") | kinds, frozenset(
        uid for _, kind, uid in known if kind == "campaign"
    )


def _continues(ask: Ask, trail: list[Row]) -> bool:
    """Whether the visit of a trail continues the one before it."""
    visit = next((step for step in trail if step["kind"] == "visit"), None)
    if visit is None:
        return False
    query = Query("silver.sessions", ("continues",)).only("first_event_id", "=", visit["event_id"])
    found = _first(ask(query.within("started_at", visit["at"], _just_after(visit["at"]))).to_dicts())
    return found is not None and found["continues"] is not None


def _anchor(ask: Ask, conversion: Row, trail: list[Row]) -> Row:
    """The order that a refund or cancellation reverses: the trail step matched on `order`."""
    order = next((step for step in trail if step["matched_on"] == "order"), None)
    if order is None:
        return conversion
    found = Query("gold.conversions", _CONVERSION).only("event_id", "=", order["event_id"])
    return _first(ask(found).to_dicts()) or conversion


def _rate(ask: Ask, conversion: Row) -> Row | None:
    since, currency = conversion["rate_valid_from"], conversion["currency"]
    if since is None or currency is None:
        return None
    rates = Query("silver.exchange_rates", ("rate", "valid_from"))
    of_currency = rates.only("currency", "=", currency.upper())
    return _first(ask(of_currency.only("valid_from", "=", since)).to_dicts())


def _first(rows: list[Row]) -> Row | None:
    return rows[0] if rows else None


def _just_after(at: datetime) -> datetime:
    return at + timedelta(microseconds=1)
