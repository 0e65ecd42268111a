"""Consents: which purposes a visitor's events may be used for, by spans of the visitor's time.

A statement of a purpose holds from its event on until the next one of the same visitor and purpose; until the
first, the default does. Events are ordered by time, then UID. If a withdrawal takes back all, a purpose is
refused up to the visitor's last refusal of it.

Only spans that differ from what holds before them are kept. So a visitor who never says anything but the
defaults has none, and statements from a time on change no span before it, except by taking all back. If a
withdrawal can take back all, a visitor with spans has one from the start, also if it is like the defaults: no
row is ever deleted, so each change is in a new or changed row.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from folds.consent_rules import ALL_GRANTED, ConsentRules, Purposes
from folds.records.event_time import EARLIEST
from folds.visitors.events import Event

_Moment = tuple[int, str]
_START: _Moment = (EARLIEST, "")
"""Before any event: no time is earlier, and no UID is empty."""


class Statement(NamedTuple):
    """What an event states of each purpose; None of those that it says nothing of."""

    at: int
    event_id: str
    analytics: bool | None
    attribution: bool | None
    ads: bool | None

    @property
    def states_anything(self) -> bool:
        """Whether any purpose is stated."""
        return any(value is not None for value in self[2:])


class Consent(NamedTuple):
    """A span of a visitor's time, and what is granted in it; times in microseconds.

    Args:
        visitor_id: the visitor.
        valid_from: time of the first event.
        event_id: UID of that event, which decides between events at `valid_from`. Empty for a span of all
            events before.
        valid_to: time of the first event of the next span; None in the last span.
        to_event_id: UID of that event.
        analytics: whether events count in figures of visitors.
        attribution: whether events earn and make credit.
        ads: whether events may be used for advertising.
    """

    visitor_id: str
    valid_from: int
    event_id: str
    valid_to: int | None
    to_event_id: str | None
    analytics: bool
    attribution: bool
    ads: bool

    @property
    def purposes(self) -> Purposes:
        """What is granted."""
        return Purposes(self.analytics, self.attribution, self.ads)


class VisitorConsents:
    """Looks up what was granted at events of one visitor.

    Args:
        spans: the visitor's, in any order.
        defaults: what holds before the first.
    """

    def __init__(self, spans: Iterable[Consent] = (), defaults: Purposes = ALL_GRANTED) -> None:
        self._spans = sorted(spans)
        self._starts = [(each.valid_from, each.event_id) for each in self._spans]
        self._defaults = defaults

    @property
    def grants_all(self) -> bool:
        """Whether all purposes are granted at all times."""
        return all(self._defaults) and all(all(each.purposes) for each in self._spans)

    def at(self, time: int, event_id: str) -> Purposes:
        """What is granted for an event."""
        place = bisect_right(self._starts, (time, event_id))
        return self._spans[place - 1].purposes if place else self._defaults

    def with_analytics(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events that count in figures of visitors."""
        if self.grants_all:
            return events
        return [each for each in events if self.at(each.event_time, each.event_id).analytics]

    def with_attribution(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events that earn and make credit."""
        if self.grants_all:
            return events
        return [each for each in events if self.at(each.event_time, each.event_id).attribution]


EVERYTHING = VisitorConsents()
"""Of a visitor who has granted all purposes."""


def find_consents(visitor: str, statements: Iterable[Statement], rules: ConsentRules) -> list[Consent]:
    """Compute the spans of a visitor from all statements."""
    return add_statements(visitor, statements, (), rules)


def first_unknown(
    statements: Iterable[Statement], known: Sequence[Consent], rules: ConsentRules
) -> int | None:
    """Time of the first new statement that differs from what the known spans say; None without one.

    All others change no span.
    """
    consents = VisitorConsents(known, rules.defaults)
    times = [
        each.at
        for each in statements
        if any(
            stated is not None and stated != granted
            for stated, granted in zip(each[2:], consents.at(each.at, each.event_id), strict=True)
        )
    ]
    return min(times, default=None)


def add_statements(
    visitor: str,
    statements: Iterable[Statement],
    known: Sequence[Consent],
    rules: ConsentRules,
    since: int = EARLIEST,
) -> list[Consent]:
    """Compute the spans of a visitor again from a time on.

    Args:
        visitor: the visitor.
        statements: all of the visitor from `since` on, new ones included; earlier ones may be among them.
        known: the spans of the statements before the new ones.
        rules: the rules in force.
        since: a time that is not after the first new statement that `first_unknown` finds.

    Returns:
        All spans.
    """
    before = [each for each in sorted(known) if each.valid_from < since]
    runs = [((each.valid_from, each.event_id), each.purposes) for each in before]
    if not runs or runs[0][0] != _START:
        runs = [(_START, rules.defaults), *runs]
    granted = runs[-1][1]
    for each in sorted(each for each in statements if each.at >= since):
        granted = Purposes(*(old if new is None else new for old, new in zip(granted, each[2:], strict=True)))
        runs.append(((each.at, each.event_id), granted))
    if not rules.withdraws_all:
        return _joined(visitor, runs, rules.defaults)
    is_stated = bool(known) or any(each != rules.defaults for _, each in runs)
    return _joined(visitor, _taken_back(runs), None if is_stated else rules.defaults)


def _taken_back(runs: Sequence[tuple[_Moment, Purposes]]) -> list[tuple[_Moment, Purposes]]:
    """Runs in which a purpose is refused up to its last refusal.

    The default is not a refusal: the first run has none to take back.
    """
    found, refused = [], [False] * len(ALL_GRANTED)
    for start, granted in reversed(runs):
        refused = [known or not now for known, now in zip(refused, granted, strict=True)]
        found.append((start, Purposes(*(not each for each in refused))))
    return found[::-1]


def _joined(visitor: str, runs: Iterable[tuple[_Moment, Purposes]], unsaid: Purposes | None) -> list[Consent]:
    """The spans of runs, in order. A run like the one before joins it; a first one like `unsaid` is none."""
    starts: list[tuple[_Moment, Purposes]] = []
    for start, granted in runs:
        if granted != (starts[-1][1] if starts else unsaid):
            starts.append((start, granted))
    ends = [*(start for start, _ in starts), (None, None)][1:]
    return [
        Consent(visitor, *start, *end, *granted) for (start, granted), end in zip(starts, ends, strict=True)
    ]
