"""View-through across sessions: visits that impressions may lead to, and the stretches of impressions."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from folds.visitors.spans import Span, is_within


class Landing(NamedTuple):
    """The start of a session, and whether its landing names a campaign that may match an impression."""

    started_at: int
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
    spans: Mapping[str, Sequence[Span]],
    landings: Landings,
    stretches: Mapping[str, Sequence[Span]],
    view_span: int,
) -> dict[str, list[Span]]:
    """Find the whole stretches with impressions that visits in the spans may be view-throughs of.

    Args:
        spans: by visitor_id, in order.
        landings: of these visitors, those in the spans.
        stretches: of these visitors, from `view_span` before the spans: see `folds.visitors.spans`.
        view_span: as of `visits_after`.

    Returns:
        By visitor_id, stretches in order that do not overlap: start, included, and end, excluded, in
        microseconds.
    """
    found: dict[str, set[Span]] = defaultdict(set)
    for visitor, theirs in spans.items():
        known = stretches.get(visitor, ())
        lows, highs = [low for low, _ in known], [high for _, high in known]
        for visit in landings.get(visitor, ()):
            if visit.is_named and is_within(visit.started_at, theirs):
                first = bisect_right(highs, visit.started_at - view_span)
                own = bisect_right(lows, visit.started_at) - 1
                found[visitor].update((low, high + 1) for low, high in known[first:own])
    return {visitor: sorted(before) for visitor, before in found.items() if before}
