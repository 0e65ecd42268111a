"""Steps of a trail as text."""

from collections.abc import Collection, Mapping
from typing import Any

WORDS = {
    ("impression", "promotion"): "promotion seen, then clicked",
    ("view", "promotion"): "promotion seen, not clicked; the visit landed by it",
    ("view", "campaign"): "promotion seen, not clicked; the visit landed by its campaign",
    ("click", "session"): "promotion clicked in this visit",
    ("click", "url"): "promotion clicked; the visit began where it led",
    ("click", "referrer"): "promotion clicked; the visit came from its page",
    ("visit", "session"): "visit began",
    ("page_view", "session"): "page viewed",
    ("goal", "order"): "the order that is taken back",
    ("goal", None): "goal reached",
}


CONTINUES = "visit began: it continues the one before it"
BY_CAMPAIGN = "page viewed: another campaign led to it"


def step_in_words(step: Mapping[str, Any], campaigns: Collection[str], continues: bool) -> str:
    """A row of gold.trails as text.

    Args:
        step: the row.
        campaigns: UIDs of events that are campaigns inside a session.
        continues: whether the visit continues another.
    """
    if step["kind"] == "visit" and continues:
        return CONTINUES
    if step["kind"] == "page_view" and step["event_id"] in campaigns:
        return BY_CAMPAIGN
    return in_words(step["kind"], step["matched_on"])


def in_words(kind: str, matched_on: str | None) -> str:
    """A step as text, with the field that it was matched on."""
    return WORDS.get((kind, matched_on), f"{kind}, by {matched_on}" if matched_on else kind)
