"""The visitor fold: one visitor's new events and history to the rows that all of them together give."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from folds.visitors.clicks import Piece, SearchPiece
from folds.visitors.events import SESSION_TYPES, Event
from folds.visitors.exposures import (
    Impression,
    Search,
    impression_piece,
    join_impressions,
    join_searches,
    search_piece,
)
from folds.visitors.goals import Goal, read_goals
from folds.visitors.minutes import VisitorMinute, visitor_minutes
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import (
    Fragment,
    Session,
    SessionIndex,
    event_fragment,
    join_fragments,
    session_fragment,
)
from folds.visitors.touches import CountedClick, Touch, counted_clicks, find_touches
from folds.visitors.views import Impressions

IMPRESSION_ROLES = ("impression", "click")
SEARCH_ROLES = ("search", "result_click")


class VisitorRows(NamedTuple):
    """What silver holds of a visitor: rows of silver.sessions, impressions and searches."""

    sessions: Sequence[Session] = ()
    impressions: Sequence[Impression] = ()
    searches: Sequence[Search] = ()


class CreditInputs(NamedTuple):
    """What gold takes of a visitor: rows of gold.touches, goals, and rows of gold.visitor_minutes."""

    touches: list[Touch]
    goals: list[Goal]
    minutes: list[VisitorMinute]


@dataclass(slots=True)
class Fragments:
    """What one visitor's rows are made of, from events and from rows taken apart, in any order."""

    sessions: list[Fragment] = field(default_factory=list)
    impressions: dict[str | None, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    searches: list[SearchPiece] = field(default_factory=list)

    def add_event(
        self, event: Event, sessions: bool = True, impressions: bool = True, searches: bool = True
    ) -> None:
        """Add an event to those of the three that it is of, and that are wanted of it."""
        if sessions and event.type in SESSION_TYPES:
            self.sessions.append(event_fragment(event))
        if event.role in IMPRESSION_ROLES:
            if impressions:
                self.impressions[event.promotion_id].append(impression_piece(event))
        elif searches and event.role in SEARCH_ROLES:
            self.searches.append(search_piece(event))

    def add_rows(self, rows: VisitorRows) -> None:
        """Take rows apart."""
        self.sessions.extend(map(session_fragment, rows.sessions))
        for impression in rows.impressions:
            self.impressions[impression.promotion_id].extend(impression.made_of)
        for search in rows.searches:
            self.searches.extend(search.made_of)


def fold_visitor(visitor: str, fragments: Fragments, rules: VisitorRules, watermark: int) -> VisitorRows:
    """Join what one visitor's rows are made of.

    Args:
        visitor: whose fragments they are.
        fragments: new events, and every row that they may change: see `join_fragments`, `assign_clicks`.
        rules: of sessions and exposures.
        watermark: decides what is open, and when it is due.
    """
    return VisitorRows(
        join_fragments(visitor, fragments.sessions, rules.session_gap, watermark),
        [
            row
            for promotion, pieces in fragments.impressions.items()
            for row in join_impressions(visitor, promotion, pieces, rules.impressions, watermark)
        ],
        join_searches(visitor, fragments.searches, rules.searches, watermark),
    )


def find_credit_inputs(
    visitor: str,
    events: Sequence[Event],
    sessions: Sequence[Session],
    rules: VisitorRules,
    earlier: Sequence[Event] = (),
) -> CreditInputs:
    """What credit and windows are computed from.

    Args:
        visitor: whose events they are.
        events: of whole sessions and minutes.
        sessions: those of the events.
        rules: of impressions and promotions, and which goals are refunds.
        earlier: impressions and clicks of other whole sessions, that visits may be view-throughs of.
    """
    index = SessionIndex(sessions)
    clicks = counted_clicks(events, rules.impressions)
    touches = find_touches(clicks, sessions, _seen(events, clicks, earlier, rules), rules)
    clicked = {click.event.event_id for click in clicks}
    goals = read_goals(events, index, rules.refunds)
    return CreditInputs(touches, goals, visitor_minutes(visitor, events, index, clicked))


def _seen(
    events: Sequence[Event], clicks: Iterable[CountedClick], earlier: Sequence[Event], rules: VisitorRules
) -> Impressions:
    """Impressions and counted clicks; those of sessions before count by themselves: no pause spans a gap."""
    impressions = [event for event in (*earlier, *events) if event.role == rules.impressions.exposure]
    clicked = [*clicks, *counted_clicks(earlier, rules.impressions)]
    times = (click.event.event_time for click in clicked)
    return Impressions(impressions, times, rules.promotions.view_span)
