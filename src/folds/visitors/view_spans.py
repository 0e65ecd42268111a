"""View-through across sessions: visits that impressions may lead to, and sessions of impressions."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from folds.visitors.spans import Span, is_within


class Landing(NamedTuple):
    """A session, and whether its landing names a campaign that may match an impression."""

    started_at: int
    ended_at: int
    is_named: bool


Landings = Mapping[str, Sequence[Landing]]
"""By visitor_id, in order; landings near the spans."""


def visits_after(
    spans: Mapping[str, Sequence[Span]], landings: Landings, view_span: int
) -> dict[str, list[int]]:
    """Find visits with a view-through that impressions or clicks in the spans may change.

    Args:
        spans: by visitor_id, the changed spans.
        landings: of these visitors, up to `view_span` after the spans.
        view_span: an impression this long or longer before a visit does not lead to it.

    Returns:
        Start times of the visits, by visitor_id.
    """
    found: dict[str, list[int]] = {}
    for visitor, theirs in spans.items():
        lows = [low for low, _ in theirs]
        for landing in landings.get(visitor, ()):
            place = bisect_right(lows, landing.started_at)
            if landing.is_named and place and landing.started_at < theirs[place - 1][1] + view_span:
                found.setdefault(visitor, []).append(landing.started_at)
    return found


def spans_before(
    spans: Mapping[str, Sequence[Span]], landings: Landings, view_span: int
) -> dict[str, list[Span]]:
    """Find the whole sessions with impressions that visits in the spans may be view-throughs of.

    Args:
        spans: by visitor_id, in order.
        landings: of these visitors, from `view_span` before the spans.
        view_span: as of `visits_after`.

    Returns:
        By visitor_id, sessions in order that do not overlap: start, included, and end, excluded, in
        microseconds.
    """
    found: dict[str, set[Span]] = defaultdict(set)
    for visitor, theirs in spans.items():
        known = landings.get(visitor, ())
        ends = [each.ended_at for each in known]
        for place, visit in enumerate(known):
            if visit.is_named and is_within(visit.started_at, theirs):
                first = bisect_right(ends, visit.started_at - view_span)
                found[visitor].update((each.started_at, each.ended_at + 1) for each in known[first:place])
    return {visitor: sorted(sessions) for visitor, sessions in found.items() if sessions}
