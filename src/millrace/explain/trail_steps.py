"""Steps of a trail as text."""

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


def in_words(kind: str, matched_on: str | None) -> str:
    """A step as text, with the field that it was matched on."""
    return WORDS.get((kind, matched_on), f"{kind}, by {matched_on}" if matched_on else kind)
