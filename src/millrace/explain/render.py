"""Renders the explanation of a conversion for a terminal."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from folds.visitors.touches import CAMPAIGN
from millrace.explain.consent import NO_CREDIT
from millrace.explain.conversion import ConversionExplanation
from millrace.explain.credit import explain_value_split, work_out
from millrace.explain.durations import readable
from millrace.explain.refund import equals, explain_limit
from millrace.explain.trail_steps import step_in_words
from millrace.tables.table_scan import Row


def render(story: ConversionExplanation, currency: str) -> RenderableType:
    """The complete explanation as text.

    Args:
        story: the explanation.
        currency: the reporting currency.
    """
    came, touched = Text("How it came about", "bold"), Text("Touches that share in it", "bold")
    trail = (came, _trail(story), *_continuation(story))
    parts = (*_head(story, currency), Text(), *trail, Text(), touched, _touches(story))
    return Group(*parts, *_models(story))


def as_dict(story: ConversionExplanation) -> dict[str, Any]:
    """The explanation as JSON: rows of the tables, times as ISO 8601."""
    parts = {
        "conversion": story.conversion,
        "rate": story.rate,
        "trail": story.trail,
        "credits": story.credits,
    }
    plain: dict[str, Any] = _plain(parts)
    plain["touches"] = [_plain(touch) for touch in story.touches.values()]
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _head(story: ConversionExplanation, currency: str) -> Iterator[RenderableType]:
    conversion = story.conversion
    order = f", order {conversion['order_id']}" if conversion["order_id"] else ""
    order += f", refund {conversion['refund_id']}" if conversion.get("refund_id") else ""
    yield Text.assemble((f"{conversion['goal']}{order}", "bold"), f"  {_time(conversion['converted_at'])}")
    ids = {"person": "person_id", "visitor": "visitor_id", "event": "event_id"}
    person = ", ".join(f"{name} {conversion[column]}" for name, column in ids.items())
    state = "final" if conversion["is_final"] else "may still change: the watermark has not passed it"
    yield Text(f"{person}; {state}; conversion_id {conversion['conversion_id']}", "dim")
    yield Text(_worth(story, currency))
    if story.anchor is not story.conversion:
        at = _time(story.anchor["converted_at"])
        yield Text(
            f"It takes back from the touches of its order, {story.anchor['goal']} of {at}, "
            "and counts in money alone."
        )
    if conversion.get("is_credited") is False:
        yield Text(NO_CREDIT)
    if limit := explain_limit(conversion, "{:f}".format):
        yield Text(limit)


def _worth(story: ConversionExplanation, currency: str) -> str:
    conversion = story.conversion
    if conversion["value"] is None:
        return "Worth: not said."
    value = f"Worth {conversion['value']:f} {conversion['currency'] or '(no currency)'}"
    if conversion["reporting_value"] is None:
        return f"{value}; in {currency} not known, for want of a rate."
    if story.rate is None:
        return f"{value}."
    since = _time(story.rate["valid_from"])
    rate = f"{story.rate['rate'].normalize():f}, the rate since {since}"
    sign = equals(conversion["value"], story.rate["rate"], conversion["reporting_value"])
    return f"{value} × {rate} {sign} {conversion['reporting_value']:f} {currency}."


def _trail(story: ConversionExplanation) -> RenderableType:
    table = _table("", "when", "what", "address", "promotion", "matched on")
    campaigns = {touch["event_id"] for touch in story.touches.values() if touch["kind"] == CAMPAIGN}
    for step in story.trail:
        address = step["url"] or step["referrer"] or ""
        words, tie = step_in_words(step, campaigns, len(story.visits) > 1), step["matched_on"] or ""
        table.add_row(
            str(step["step"]), _time(step["at"]), words, Text(address), Text(step["promotion_id"] or ""), tie
        )
    return table


def _continuation(story: ConversionExplanation) -> Iterator[RenderableType]:
    """Which visit the conversion's continues, and what that means."""
    for visit, before in pairwise(story.visits):
        apart = readable(visit["started_at"] - before["ended_at"])
        yield Text(
            f"The visit of {_time(visit['started_at'])} continues that of {_time(before['started_at'])}: "
            f"it came back {apart} after its end, from {visit['entry_referrer']}, without a campaign "
            f"of its own. So it is no touch, and its channel is that one's, {before['channel']}."
        )


def _touches(story: ConversionExplanation) -> RenderableType:
    """The touches in the look-back window, which are the same for every model."""
    rows = next((rows for rows in story.credits.values() if rows), [])
    if not any(row["touch_id"] for row in rows):
        return Text(f"None in the {story.numbers.look_back / timedelta(days=1):g} days before.")
    table = _table("", "when", "by", "channel", "campaign or promotion", "before")
    for row in rows:
        kind = story.touches.get(row["touch_id"], {}).get("kind", "view")  # a view has no row in gold.touches
        kind = "campaign in the visit" if kind == CAMPAIGN else kind
        campaign = Text(row["campaign_name"] or row["promotion_id"] or "")
        age = readable(story.anchor["converted_at"] - row["touched_at"])
        table.add_row(str(row["position"]), _time(row["touched_at"]), kind, row["channel"], campaign, age)
    return table


def _models(story: ConversionExplanation) -> Iterator[RenderableType]:
    for model, rows in story.credits.items():
        if rows:
            yield from (Text(), Text.assemble("Credit by ", (model, "bold")), _model(story, model, rows))


def _model(story: ConversionExplanation, model: str, rows: list[Row]) -> RenderableType:
    table = _table("", "channel", "why", "credit × value")
    at = story.anchor["converted_at"]
    touches = [(row["channel"], at - row["touched_at"]) for row in rows if row["touch_id"]]
    values = [row["credited_value"] for row in rows]
    parts = explain_value_split(story.conversion["value"], [row["credit"] for row in rows], values)
    for row, why, part in zip(rows, work_out(model, touches, story.numbers), parts, strict=True):
        table.add_row(str(row["position"]), row["channel"], why, part)
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"
