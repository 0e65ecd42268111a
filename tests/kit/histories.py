"""Folds all events of a visitor at once."""

from collections.abc import Iterable

from folds.visitors.events import Event
from folds.visitors.fold import Fragments, VisitorRows, fold_visitor
from folds.visitors.rules import VisitorRules


def fold_history(visitor: str, events: Iterable[Event], rules: VisitorRules, watermark: int) -> VisitorRows:
    """Sessions, impressions and searches of one visitor."""
    fragments = Fragments()
    for event in events:
        fragments.add_event(event)
    return fold_visitor(visitor, fragments, rules, watermark)
