"""The visitor fold: computes a visitor's rows from new events and existing rows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from folds.visitors.clicks import Piece, SearchPiece
from folds.visitors.consents import EVERYTHING, VisitorConsents
from folds.visitors.events import Event
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
from folds.visitors.touches import CountedClick, Touch, counted_clicks, find_touches, with_consents
from folds.visitors.views import Impressions

IMPRESSION_ROLES = ("impression", "click")
SEARCH_ROLES = ("search", "result_click")


class VisitorRows(NamedTuple):
    """A visitor's rows of silver.sessions, silver.impressions and silver.searches."""

    sessions: Sequence[Session] = ()
    impressions: Sequence[Impression] = ()
    searches: Sequence[Search] = ()


class CreditInputs(NamedTuple):
    """A visitor's inputs of gold: rows of gold.touches, goals, and rows of gold.visitor_minutes."""

    touches: list[Touch]
    goals: list[Goal]
    minutes: list[VisitorMinute]


@dataclass(slots=True)
class Fragments:
    """Fragments of one visitor's rows, from events and from existing rows, in any order."""

    sessions: list[Fragment] = field(default_factory=list)
    impressions: dict[str | None, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    searches: list[SearchPiece] = field(default_factory=list)

    def add_event(
        self, event: Event, sessions: bool = True, impressions: bool = True, searches: bool = True
    ) -> None:
        """Add an event to the fragments of each selected table that is computed from it."""
        if sessions and event.is_in_session:
            self.sessions.append(event_fragment(event))
        if event.role in IMPRESSION_ROLES:
            if impressions:
                self.impressions[event.promotion_id].append(impression_piece(event))
        elif searches and event.role in SEARCH_ROLES:
            self.searches.append(search_piece(event))

    def add_rows(self, rows: VisitorRows, changed: Collection[str] = ()) -> None:
        """Add the fragments of existing rows.

        Args:
            rows: the rows.
            changed: ids of sessions that differ from their published rows.
        """
        self.sessions.extend(session_fragment(row, row.session_id in changed) for row in rows.sessions)
        for impression in rows.impressions:
            self.impressions[impression.promotion_id].extend(impression.made_of)
        for search in rows.searches:
            self.searches.extend(search.made_of)


def fold_visitor(visitor: str, fragments: Fragments, rules: VisitorRules, watermark: int) -> VisitorRows:
    """Join one visitor's fragments to rows.

    Args:
        visitor: the visitor.
        fragments: of new events, and of every row that they may change: see `join_fragments`,
            `assign_clicks`.
        rules: of sessions and exposures.
        watermark: decides which rows are open, and when they are due.
    """
    return VisitorRows(
        join_fragments(visitor, fragments.sessions, rules, watermark),
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
    consents: VisitorConsents = EVERYTHING,
) -> CreditInputs:
    """Compute the inputs of credit and windows.

    Args:
        visitor: the visitor.
        events: of whole sessions and minutes.
        sessions: those of the events.
        rules: of impressions and promotions, and which goals are refunds.
        earlier: impressions and clicks of other whole sessions, which visits may be view-throughs of.
        consents: the visitor's.
    """
    index = SessionIndex(sessions)
    clicks = counted_clicks(events, rules.impressions)
    seen = _seen(events, clicks, earlier, rules, consents)
    touches = with_consents(find_touches(events, clicks, sessions, seen, rules), consents)
    clicked = {click.event.event_id for click in clicks}
    goals = read_goals(events, index, rules.refunds, consents, rules.of_sessions)
    counted = consents.with_analytics(events)
    return CreditInputs(touches, goals, visitor_minutes(visitor, counted, index, clicked))


def _seen(
    events: Sequence[Event],
    clicks: Iterable[CountedClick],
    earlier: Sequence[Event],
    rules: VisitorRules,
    consents: VisitorConsents,
) -> Impressions:
    """Impressions with consent to attribution, and counted clicks.

    Earlier sessions are counted separately: no click pause spans a gap.
    """
    impressions = [event for event in (*earlier, *events) if event.role == rules.impressions.exposure]
    clicked = [*clicks, *counted_clicks(earlier, rules.impressions)]
    times = (click.event.event_time for click in clicked)
    return Impressions(consents.with_attribution(impressions), times, rules.promotions.view_span)
