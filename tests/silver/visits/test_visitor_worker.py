"""The visitor fold over Arrow batches without Spark: any batch size, any chunk of time."""

from collections.abc import Iterator
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
from kit.oracle_wire import DAY, MINUTE, Fields
from kit.visitor_stories import NOON, STORIES, Story, event, to_events
from lakehouse.contracts.silver import FOLDED
from silver.visits import visitor_worker
from silver.visits.visitor_arrow import ROWS, arrow_type, read_table, write_table
from silver.visits.visitor_worker import EVENT, FIELDS, FoldPartition

RULES = VisitorRules.of(RuleNumbers())
WATERMARK = NOON + 35 * MINUTE
_TYPES_OF = {
    **dict.fromkeys(("event_time", "ingested_at"), pa.timestamp("us", "UTC")),
    "has_context_campaign": pa.bool_(),
}
_EVENT = pa.struct([(name, _TYPES_OF.get(name, pa.string())) for name in (*Event._fields, "ingested_at")])
_TYPES = {EVENT: _EVENT, **{FIELDS[table.name]: arrow_type(table) for table in FOLDED}}


def event_rows(events: list[Fields], stamp: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "visitor_id": each.visitor_id,
            "at": each.event_time,
            EVENT: pa.array([{**each._asdict(), "ingested_at": stamp}], _EVENT),
        }
        for each in to_events(events)
    ]


def history_rows(rows: VisitorRows) -> list[dict[str, Any]]:
    return [
        {
            "visitor_id": row.visitor_id,
            "at": getattr(row, str(table.event_time)),
            FIELDS[table.name]: write_table(table, [row]),
        }
        for table, each in zip(FOLDED, rows, strict=True)
        for row in each
    ]


def batches_of(rows: list[dict[str, Any]], size: int) -> Iterator[pa.RecordBatch]:
    """Rows as Spark passes them: sorted by visitor and time, in batches of `size`."""
    rows = sorted(rows, key=itemgetter("visitor_id", "at"))
    for low in range(0, len(rows), size):
        part = rows[low : low + size]
        columns = [
            pa.concat_arrays([row.get(field, pa.nulls(1, kind)) for row in part])
            for field, kind in _TYPES.items()
        ]
        visitors = pa.array([row["visitor_id"] for row in part])
        times = pa.array([row["at"] for row in part], pa.timestamp("us", "UTC"))
        yield pa.RecordBatch.from_arrays([visitors, times, *columns], ["visitor_id", "at", *_TYPES])


def fold(
    rows: list[dict[str, Any]], size: int = 10_000, chunk: int = 10_000, filled: Any = (0, 0, 0)
) -> dict[tuple[str, str], tuple[bool, Any]]:
    """By table and key: whether the row is deleted, and the row. No key occurs twice."""
    found: dict[tuple[str, str], tuple[bool, Any]] = {}
    with patch.object(visitor_worker, "CHUNK", chunk):
        for batch in FoldPartition(RULES, WATERMARK, filled, "_gone")(batches_of(rows, size)):
            for table in FOLDED:
                structs = batch.column(FIELDS[table.name])
                goes = batch.column("_gone").filter(structs.is_valid()).to_pylist()
                changed = read_table(table, structs.filter(structs.is_valid()))
                for gone, row in zip(goes, changed, strict=True):
                    key = table.name, getattr(row, table.key[0])
                    assert key not in found
                    found[key] = gone, row
    return found


def rows_by_key(rows: list[VisitorRows]) -> dict[tuple[str, str], Any]:
    return {
        (table.name, getattr(row, table.key[0])): row
        for visitor in rows
        for table, each in zip(FOLDED, visitor, strict=True)
        for row in each
    }


def published(events: list[Fields]) -> list[VisitorRows]:
    by_visitor = groupby(sorted(events, key=itemgetter("visitor_id")), itemgetter("visitor_id"))
    return [fold_history(who, to_events(own), RULES, WATERMARK) for who, own in by_visitor]


def test_row_fields_match_contract_columns_in_order() -> None:
    for table in FOLDED:
        make, piece = ROWS[table.name]
        assert make.__self__._fields == table.column_names  # type: ignore[attr-defined]
        made_of = {column.name: column.type for column in table.columns}.get("made_of")
        assert made_of is None or [part.split(":")[0] for part in made_of[13:].split(", ")] == [
            *piece._fields
        ]


@settings(max_examples=300, deadline=None)
@given(STORIES, st.sampled_from([1, 2, 3, 100]), st.sampled_from([0, 1, 3, 100]))
def test_changes_turn_published_rows_into_rows_of_all_events(story: Story, size: int, chunk: int) -> None:
    first, *later = story.batches
    before = published(list(first))
    new = [each for batch in later for each in batch]
    rows = [*event_rows(new), *(row for each in before for row in history_rows(each))]
    changes = fold(rows, size, chunk)
    rows_after = rows_by_key(before)
    for key, (gone, row) in changes.items():
        assert rows_after.get(key) != row or gone
        if gone:
            del rows_after[key]
        else:
            rows_after[key] = row
    assert rows_after == rows_by_key(published(story.events))


def test_unchanged_row_is_not_emitted() -> None:
    (before,) = published([event(NOON, uid="e1"), event(NOON - DAY, uid="e0")])
    changes = fold([*history_rows(before), *event_rows([event(NOON + MINUTE, uid="e2")])])
    assert [(gone, row.events) for gone, row in changes.values()] == [(False, 2)]


def test_event_already_in_one_table_is_folded_into_the_others_only() -> None:
    click = event(NOON, uid="c", type="track", role="click", promotion_id="p")
    changes = fold(event_rows([click], stamp=5), filled=(5, 4, 5))
    assert [table for table, _ in changes] == ["silver.impressions"]


def test_row_without_due_time_gets_one() -> None:
    (before,) = published([event(NOON + 6 * MINUTE, uid="e1")])
    (session,) = before.sessions
    assert session.is_open
    old = before._replace(sessions=[session._replace(due_at=None)])
    assert [row for _, row in fold(history_rows(old)).values()] == [session]
