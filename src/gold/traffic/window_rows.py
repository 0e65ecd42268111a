"""Folds of windows over grouped rows: minutes to differences, and differences to changes of gold.traffic."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from folds.windows.differences import ADDED, Minute, window_differences
from folds.windows.revisions import Progress, Sums, WindowKey, WindowRow, revise, sum_differences
from folds.windows.time_windows import Windows
from folds.windows.window_rules import WindowRules
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows
from lakehouse.rows.row_changes import RowDiff

MINUTE = ("minute", "channel", "sequence", "by_events", *ADDED)
"""Columns of gold.visitor_minutes that windows are computed from, by visitor_id."""

_TRAFFIC = arrow_schema(TRAFFIC)

DIFFERENCES = pa.schema(
    [_TRAFFIC.field(name) for name in (*WindowKey._fields, *Sums._fields[:-2])]
    + [pa.field(name, pa.int64()) for name in Sums._fields[-2:]]
)
"""Rows of differences; rows of the same window are summed."""

CHANGES = pa.schema(list(change_type(TRAFFIC)))
"""Changes to write to gold.traffic, see `lakehouse.delta.write_changes.change_type`."""


def fold_differences(groups: GroupedRows, windows: Sequence[Windows], known: int) -> Iterator[pa.RecordBatch]:
    """Fold minutes by visitor to `DIFFERENCES`; minutes with a sequence above `known` are new."""

    def minute(at: int, channel: str | None, sequence: int, by_events: bool | None, *added: Any) -> Minute:
        """A row as a `Minute`; `by_events` is null in rows that are older than the column."""
        return Minute(at, channel, sequence > known, by_events is not False, added)

    by_visitor = groups.rows("minute", minute)
    found = window_differences(by_visitor, windows)
    rows = [
        (cell.kind, *cell.span, cell.channel, *added[:2], visitors, *added[2:])
        for cell, (visitors, *added) in found.items()
        if visitors or any(added)
    ]
    yield _batch(rows, DIFFERENCES)


def fold_revisions(
    groups: GroupedRows, watermark: Progress, rules: WindowRules, is_total: bool
) -> Iterator[pa.RecordBatch]:
    """Fold rows of gold.traffic and differences, by window_start, to `CHANGES`."""
    rows = groups.rows("row", WindowRow, held=Sums)
    differences = groups.rows("difference", _difference)
    compare = RowDiff(TRAFFIC).compare
    changes: list[tuple[Any, ...]] = []
    for start in rows.keys() | differences.keys():
        of_start = sum_differences(differences.get(start, ()))
        revised = revise(rows.get(start, ()), of_start, watermark, rules, is_total)
        before, after = [old for old, _ in revised if old], [new for _, new in revised if new]
        changes += as_tuples(compare(before, after))
    yield _batch(changes, CHANGES)


def _difference(*fields: Any) -> tuple[WindowKey, Sequence[Any]]:
    return WindowKey(*fields[:4]), fields[4:]


def _batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(transpose(rows, list(schema)), schema=schema)
