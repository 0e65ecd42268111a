"""Changes of a visitor's rows by a fold; long histories are folded in chunks of time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeVar

from folds.visitors.events import Event
from folds.visitors.exposures import Impression, Search
from folds.visitors.fold import Fragments, VisitorRows, fold_visitor
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session, origin_of

Row = TypeVar("Row", Session, Impression, Search)


class Changes(NamedTuple):
    """Rows to insert, rows that replace an open row or a closed one with the same key, and rows to delete."""

    inserts: VisitorRows
    updates: VisitorRows
    closed_updates: VisitorRows
    deletes: VisitorRows


@dataclass(slots=True)
class VisitorStory:
    """A visitor's new events and the rows that they may change, collected while batches are read.

    Args:
        visitor: the visitor.
        fragments: fragments to join.
        sessions: published rows, by key.
        impressions: the same.
        searches: the same.
        size: number of events and rows to join.
    """

    visitor: str
    fragments: Fragments = field(default_factory=Fragments)
    sessions: dict[str, Session] = field(default_factory=dict)
    impressions: dict[str, Impression] = field(default_factory=dict)
    searches: dict[str, Search] = field(default_factory=dict)
    size: int = 0

    def add_event(self, event: Event, tables: tuple[bool, bool, bool] = (True, True, True)) -> None:
        """Add a new event to sessions, impressions and searches, or to some of these."""
        self.fragments.add_event(event, *tables)
        self.size += 1

    def add_rows(self, rows: VisitorRows) -> None:
        """Add published rows."""
        self.fragments.add_rows(rows)
        self.sessions.update((row.session_id, row) for row in rows.sessions)
        self.impressions.update((row.event_id, row) for row in rows.impressions)
        self.searches.update((row.event_id, row) for row in rows.searches)
        self.size += sum(map(len, rows))

    def fold(self, rules: VisitorRules, watermark: int) -> Changes:
        """Fold everything that was added, and return the changes."""
        return self._compare(fold_visitor(self.visitor, self.fragments, rules, watermark), VisitorRows())

    def fold_until(self, time: int, rules: VisitorRules, watermark: int) -> Changes:
        """Fold, return the changes of finished rows, and keep rows that may still grow as fragments.

        Args:
            time: everything added later is at or after this time.
            rules: of sessions and exposures.
            watermark: as of `fold`.
        """
        folded = fold_visitor(self.visitor, self.fragments, rules, watermark)
        done, growing = _split(folded, time, rules)
        changes = self._compare(done, growing)
        self.fragments = Fragments()
        self.fragments.add_rows(
            growing, [row.session_id for row in growing.sessions if self._has_changed(row)]
        )
        self.size = sum(map(len, growing))
        return changes

    def _has_changed(self, session: Session) -> bool:
        """Whether a session differs from its published row in what the session after it depends on."""
        before = self.sessions.get(session.session_id)
        return before is None or _what_continues(before) != _what_continues(session)

    def _compare(self, done: VisitorRows, growing: VisitorRows) -> Changes:
        """Compare finished rows with published rows; published rows with a key in `growing` are kept."""
        by_table = (
            _differences(self.sessions, done.sessions, growing.sessions, lambda row: row.session_id),
            _differences(self.impressions, done.impressions, growing.impressions, lambda row: row.event_id),
            _differences(self.searches, done.searches, growing.searches, lambda row: row.event_id),
        )
        return Changes(*(VisitorRows(*rows) for rows in zip(*by_table, strict=True)))


def _what_continues(session: Session) -> tuple[object, ...]:
    """What a session that continues this one takes from it, and its end, which decides whether it does."""
    return session.ended_at, session.continues, origin_of(session)


def _differences(
    known: dict[str, Row], done: Iterable[Row], growing: Iterable[Row], key: Callable[[Row], str]
) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """Find the rows of `Changes`; finished and deleted rows are removed from `known`."""
    inserts: list[Row] = []
    updates: list[Row] = []
    closed_updates: list[Row] = []
    for row in done:
        before = known.pop(key(row), None)
        if before is None:
            inserts.append(row)
        elif before != row:
            (updates if before.is_open else closed_updates).append(row)
    kept = {key(row) for row in growing}
    deletes = [known.pop(each) for each in list(known) if each not in kept]
    return inserts, updates, closed_updates, deletes


def _split(rows: VisitorRows, time: int, rules: VisitorRules) -> tuple[VisitorRows, VisitorRows]:
    """Split rows into those that events from a time on cannot change, and the others."""
    splits = [
        _part(rows.sessions, lambda row: row.ended_at + rules.session_reach <= time),
        _part(rows.impressions, lambda row: row.event_time + rules.impressions.reach <= time),
        _part(rows.searches, lambda row: row.event_time + rules.searches.reach <= time),
    ]
    done, growing = zip(*splits, strict=True)
    return VisitorRows(*done), VisitorRows(*growing)


def _part(rows: Iterable[Row], is_done: Callable[[Row], bool]) -> tuple[list[Row], list[Row]]:
    done: list[Row] = []
    growing: list[Row] = []
    for row in rows:
        (done if is_done(row) else growing).append(row)
    return done, growing


def all_changes(changes: Sequence[Changes]) -> Changes:
    """Combine the changes of several visitors."""
    if not changes:
        return Changes(*(VisitorRows() for _ in Changes._fields))
    return Changes(*map(_chain, zip(*changes, strict=True)))


def _chain(parts: Iterable[VisitorRows]) -> VisitorRows:
    sessions, impressions, searches = zip(*parts, strict=True)
    return VisitorRows(*(list(chain.from_iterable(rows)) for rows in (sessions, impressions, searches)))
