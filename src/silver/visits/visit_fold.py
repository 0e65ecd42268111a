"""The fold over visitors: changes of sessions, impressions and searches from new events and known rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.visitors.changes import Changes, VisitorStory, all_changes
from folds.visitors.clicks import Piece, SearchPiece
from folds.visitors.events import SESSION_TYPES, Event
from folds.visitors.exposures import Impression, Search
from folds.visitors.fold import IMPRESSION_ROLES, SEARCH_ROLES, VisitorRows
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCHES
from lakehouse.contracts.silver import FOLDED, SESSIONS
from lakehouse.contracts.table import Table
from lakehouse.delta.write_changes import WAS_OPEN, change_type
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_ordered_groups, with_key
from lakehouse.timestamps import EPOCH, to_micros

CHUNK = 200_000
"""Number of a visitor's events and rows after which they are folded before more are read."""

_EVENT = "event"
_STAMPED = (*Event._fields, "ingested_at")
_MAKERS: Mapping[str, tuple[Any, Any]] = {
    SESSIONS.short_name: (Session, None),
    IMPRESSIONS.short_name: (Impression, Piece),
    SEARCHES.short_name: (Search, SearchPiece),
}
"""By kind: the class of its rows, and the class of the elements of its column `made_of`."""

_TAKES = {
    SESSIONS.name: ("type", SESSION_TYPES),
    IMPRESSIONS.name: ("role", IMPRESSION_ROLES),
    SEARCHES.name: ("role", SEARCH_ROLES),
}
"""By table: the column of silver.events that selects its events, and the accepted values."""

_WAS_OPEN = pa.field(WAS_OPEN, pa.bool_())
CHANGES = pa.schema(
    [pa.field(table.short_name, pa.struct([*change_type(table), _WAS_OPEN])) for table in FOLDED]
)
"""A struct per table: `change_type`, and whether the old row was open; null if there is none."""


def takes_event(table: str) -> Column:
    """A condition: a table is computed from an event."""
    column, values = _TAKES[table]
    taken = F.col(column).isin(*values)
    if table == SESSIONS.name:
        taken &= ~F.coalesce("is_server_event", F.lit(False))
    return taken


def events_of(events: DataFrame, *tables: str) -> DataFrame:
    """Select the events that the given tables are computed from; without names, events of any table."""
    return events.where(reduce(or_, map(takes_event, tables or _TAKES)))


def fold_visits(
    events: DataFrame,
    history: Mapping[str, DataFrame],
    rules: VisitorRules,
    watermark: datetime,
    filled: Mapping[str, datetime],
) -> DataFrame:
    """Compute row changes by new events and the watermark: one shuffle by visitor, one pass in Python.

    Args:
        events: rows of silver.events. Events up to a table's `filled` stamp are already in that table.
        history: by table, every row that may change. Unchanged rows are not emitted.
        rules: of sessions and exposures.
        watermark: decides which rows are open.
        filled: high-water mark (ingest stamp) by table.

    Returns:
        `CHANGES`: a struct per table, of which one is not null; not computed yet.
    """
    kinds = {_EVENT: with_key(events, "visitor_id", _STAMPED)}
    order = {_EVENT: "event_time"}
    for table in FOLDED:
        if table.name in history:
            kinds[table.short_name] = with_key(history[table.name], "visitor_id", table.column_names)
            order[table.short_name] = str(table.event_time)
    first, second, third = (to_micros(filled[table.name]) for table in FOLDED)
    fold = _VisitFold(rules, to_micros(watermark), (first, second, third))
    return map_ordered_groups(kinds, order, fold, CHANGES)


def all_visits(events: DataFrame, table: Table, rules: VisitorRules, watermark: datetime) -> DataFrame:
    """Compute all rows of a table from all events."""
    never = {each.name: EPOCH for each in FOLDED}
    folded = fold_visits(events_of(events, table.name), {}, rules, watermark, never)
    found = F.col(table.short_name)
    return folded.where(found.isNotNull()).select(*(found[name].alias(name) for name in table.column_names))


@dataclass(frozen=True)
class _VisitFold:
    """The fold, as Spark's Python workers run it.

    Args:
        rules: of sessions and exposures.
        watermark: in microseconds.
        filled: high-water mark (ingest stamp) of each table, in the order of `FOLDED`.
    """

    rules: VisitorRules
    watermark: int
    filled: tuple[int, int, int]

    def __call__(self, parts: Iterator[GroupedRows]) -> Iterator[pa.RecordBatch]:
        last: VisitorStory | None = None
        for part in parts:
            changes = []
            rows = _Part(part)
            if last and last.size > CHUNK and (since := rows.first_time(last.visitor)) is not None:
                changes.append(last.fold_until(since, self.rules, self.watermark))
            *stories, last = rows.stories(last, self.filled)
            changes += [story.fold(self.rules, self.watermark) for story in stories]
            yield from _batches(all_changes(changes))
        if last:
            yield from _batches(last.fold(self.rules, self.watermark))


class _Part:
    """Events and rows of some visitors, in order of visitors. The last one may continue in the next part.

    Args:
        part: the rows.
    """

    def __init__(self, part: GroupedRows) -> None:
        self._visitors = part.keys
        self._events = part.rows(_EVENT, tuple)
        self._rows = {
            kind: part.rows(kind, make, **({"made_of": piece} if piece else {}))
            for kind, (make, piece) in _MAKERS.items()
        }

    def first_time(self, visitor: str) -> int | None:
        """Time of the first event or row of a visitor; None if there is none."""
        at = Event._fields.index("event_time")
        times = [event[at] for event in self._events.get(visitor, ())]
        times += [row.started_at for row in self._rows[SESSIONS.short_name].get(visitor, ())]
        for kind in (IMPRESSIONS.short_name, SEARCHES.short_name):
            times += [row.event_time for row in self._rows[kind].get(visitor, ())]
        return min(times, default=None)

    def stories(self, last: VisitorStory | None, filled: tuple[int, int, int]) -> list[VisitorStory]:
        """The visitors' stories, in order; `last` is the one that may continue here."""
        stories = {last.visitor: last} if last else {}
        first, second, third = filled
        for visitor in self._visitors:
            story = stories.setdefault(visitor, VisitorStory(visitor))
            for *event, stamp in self._events.get(visitor, ()):
                story.add_event(Event(*event), (stamp > first, stamp > second, stamp > third))
            story.add_rows(VisitorRows(**{kind: rows.get(visitor, ()) for kind, rows in self._rows.items()}))
        return list(stories.values())


def _batches(changes: Changes) -> Iterator[pa.RecordBatch]:
    for kind, rows in changes._asdict().items():
        for table, theirs in zip(FOLDED, rows, strict=True):
            if theirs:
                yield batch_of_kind(CHANGES, table.short_name, _tuples(table, theirs, kind))


def _tuples(table: Table, rows: Iterable[Any], kind: str) -> list[tuple[Any, ...]]:
    """Rows of a field of `Changes` as in `CHANGES`. The time of a row follows from its key."""
    at = table.column_names.index(str(table.event_time))
    if kind == "inserts":
        return [(*row, False, None, None) for row in rows]
    if kind == "deletes":
        return [(*row, True, row[at], row.is_open) for row in rows]
    return [(*row, False, row[at], kind == "updates") for row in rows]
