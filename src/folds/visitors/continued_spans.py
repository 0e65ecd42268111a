"""Sessions whose campaign may change with a session before them, because they continue it."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from folds.visitors.sessions import Session
from folds.visitors.spans import Span, is_within


def sessions_after(
    spans: Mapping[str, Sequence[Span]], sessions: Mapping[str, Sequence[Session]]
) -> dict[str, list[int]]:
    """Find the sessions that continue one in the spans, directly or through others.

    Args:
        spans: by visitor_id, the changed spans.
        sessions: of these visitors, in any order: those in the spans, and later ones that continue another.

    Returns:
        Start times of the sessions, by visitor_id.
    """
    found: dict[str, list[int]] = {}
    for visitor, theirs in spans.items():
        changed = set()
        for session in sorted(sessions.get(visitor, ()), key=attrgetter("started_at")):
            if session.continues in changed:
                found.setdefault(visitor, []).append(session.started_at)
                changed.add(session.session_id)
            elif is_within(session.started_at, theirs):
                changed.add(session.session_id)
    return found
