"""The fold over visitors on Arrow batches, without Spark: any batch size, any chunk of time."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from folds.rule_numbers import RuleNumbers
from folds.visitors.events import Event
from folds.visitors.fold import VisitorRows
from folds.visitors.rules import VisitorRules
from kit.histories import fold_history
from kit.oracle_wire import DAY, MINUTE, SECOND, Fields
from kit.visitor_stories import NOON, STORIES, Story, event, to_events
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.silver import EVENTS, FOLDED
from lakehouse.contracts.table import DELETED
from lakehouse.delta.write_changes import OLD_TIME
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.grouped import KEY, GroupedRows
from silver.visits import visit_fold

RULES = VisitorRules.of(RuleNumbers())
WATERMARK = NOON + 35 * MINUTE
_EVENT = pa.struct([arrow_schema(EVENTS).field(name) for name in (*Event._fields, "ingested_at")])
_TYPES = {"event": _EVENT, **{table.short_name: pa.struct(list(arrow_schema(table))) for table in FOLDED}}

Row = tuple[str, int, str, tuple[Any, ...]]
"""Visitor, time, kind and values of a row."""


def event_rows(events: list[Fields], stamp: int = 1) -> list[Row]:
    return [(each.visitor_id, each.event_time, "event", (*each, stamp)) for each in to_events(events)]


def history_rows(rows: Iterable[Sequence[Any]]) -> list[Row]:
    return [
        (row.visitor_id, getattr(row, str(table.event_time)), table.short_name, tuple(row))
        for table, each in zip(FOLDED, rows, strict=True)
        for row in each
    ]


def parts_of(rows: list[Row], size: int) -> Iterator[GroupedRows]:
    """Rows as Spark passes them: sorted by visitor and time, in batches of `size`."""
    rows = sorted(rows, key=itemgetter(0, 1))
    for low in range(0, len(rows), size):
        part = rows[low : low + size]
        columns = [_column(part, kind) for kind in _TYPES]
        table = pa.table([pa.array([row[0] for row in part]), *columns], [KEY, *_TYPES])
        yield GroupedRows.of_union(in_micros(table))


def _column(part: list[Row], kind: str) -> pa.Array:
    return pa.concat_arrays(
        [
            pa.StructArray.from_arrays(transpose([values], list(_TYPES[kind])), fields=list(_TYPES[kind]))
            if of == kind
            else pa.nulls(1, _TYPES[kind])
            for _, _, of, values in part
        ]
    )


def fold(
    rows: list[Row], size: int = 10_000, chunk: int = 10_000, filled: Any = (0, 0, 0)
) -> dict[tuple[str, str], tuple[bool, bool, Any]]:
    """By table and key, each once: whether the row is deleted, whether it was known, and the row."""
    found: dict[tuple[str, str], tuple[bool, bool, Any]] = {}
    with patch.object(visit_fold, "CHUNK", chunk):
        for batch in visit_fold._VisitFold(RULES, WATERMARK, filled)(parts_of(rows, size)):
            for table in FOLDED:
                if table.short_name not in batch.schema.names:
                    continue
                changes = in_micros(pa.Table.from_batches([batch]))[table.short_name].to_pylist()
                for change in changes:
                    key = table.name, change[table.key[0]]
                    assert key not in found
                    row = {name: change[name] for name in table.column_names}
                    found[key] = change[DELETED], change[OLD_TIME] is not None, row
    return found


def rows_by_key(rows: Iterable[Iterable[Sequence[Any]]]) -> dict[tuple[str, str], Any]:
    return {
        (table.name, getattr(row, table.key[0])): plain(row._asdict())
        for visitor in rows
        for table, each in zip(FOLDED, visitor, strict=True)
        for row in each
    }


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with fragments as dictionaries, as Arrow returns them."""
    if "made_of" not in row:
        return row
    return {**row, "made_of": [piece._asdict() for piece in row["made_of"]]}


def published(events: list[Fields]) -> list[VisitorRows]:
    by_visitor = groupby(sorted(events, key=itemgetter("visitor_id")), itemgetter("visitor_id"))
    return [fold_history(who, to_events(own), RULES, WATERMARK) for who, own in by_visitor]


@settings(max_examples=200, deadline=None)
@given(STORIES, st.sampled_from([1, 2, 3, 100]), st.sampled_from([0, 1, 3, 100]))
def test_changes_turn_published_rows_into_rows_of_all_events(story: Story, size: int, chunk: int) -> None:
    first, *later = story.batches
    before = published(list(first))
    new = [each for batch in later for each in batch]
    rows = [*event_rows(new), *(row for each in before for row in history_rows(each))]
    changes = fold(rows, size, chunk)
    rows_after = rows_by_key(before)
    for key, (is_deleted, is_known, row) in changes.items():
        assert is_known == (key in rows_after)
        assert rows_after.get(key) != row or is_deleted
        if is_deleted:
            del rows_after[key]
        else:
            rows_after[key] = row
    assert rows_after == rows_by_key(published(story.events))


def test_session_that_ends_later_is_continued_in_the_next_chunk() -> None:
    returns = event(NOON + DAY + 8 * SECOND, uid="e2") | {"has_internal_referrer": True}
    first, late = event(NOON, uid="e0"), event(NOON + 9 * SECOND, uid="e1")
    rows = [row for each in published([first, returns]) for row in history_rows(each)]
    changes = fold([*rows, *event_rows([late])], size=1, chunk=0)
    assert {row["first_event_id"]: row["continues"] is not None for *_, row in changes.values()} == {
        "e0": False,
        "e2": True,
    }


def test_unchanged_row_is_not_emitted() -> None:
    (before,) = published([event(NOON, uid="e1"), event(NOON - DAY, uid="e0")])
    changes = fold([*history_rows(before), *event_rows([event(NOON + MINUTE, uid="e2")])])
    assert [(*flags, row["events"]) for *flags, row in changes.values()] == [(False, True, 2)]


def test_event_already_in_one_table_is_folded_into_the_others_only() -> None:
    click = event(NOON, uid="c", type="track", role="click", promotion_id="p")
    changes = fold(event_rows([click], stamp=5), filled=(5, 4, 5))
    assert [table for table, _ in changes] == ["silver.impressions"]


def test_row_without_due_time_gets_one() -> None:
    (before,) = published([event(NOON + 6 * MINUTE, uid="e1")])
    (session,) = before.sessions
    assert session.is_open
    old = before._replace(sessions=[session._replace(due_at=None)])
    assert [row for *_, row in fold(history_rows(old)).values()] == [session._asdict()]
