"""Page views of a visit, from its first event to a goal."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter

from folds.persons.records import Goal, PageView

_BY_TIME = attrgetter("at", "event_id")


class PageViews:
    """Page views of visitors, looked up by visit.

    Args:
        pages: page views in any order: at least those of all visits that are looked up.
    """

    def __init__(self, pages: Iterable[PageView]) -> None:
        self._views: dict[str, list[PageView]] = defaultdict(list)
        for page in sorted(pages, key=_BY_TIME):
            self._views[page.visitor_id].append(page)
        self._keys = {visitor: list(map(_BY_TIME, views)) for visitor, views in self._views.items()}

    def before(self, goal: Goal) -> Sequence[PageView]:
        """Page views of a goal's visit up to the goal, by time, then UID; may include its first event."""
        if goal.visit is None or goal.visitor_id not in self._views:
            return ()
        keys = self._keys[goal.visitor_id]
        low = bisect_left(keys, (goal.visit.at, goal.visit.event_id))
        high = bisect_right(keys, (goal.converted_at, goal.event_id))
        return self._views[goal.visitor_id][low:high]
