"""The fold of windows over grouped rows: differences to changes of gold.traffic."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from folds.windows.revisions import Progress, Sums, WindowKey, WindowRow, revise, sum_differences
from folds.windows.window_rules import WindowRules
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows
from lakehouse.rows.row_changes import RowDiff

CHANGES = pa.schema(list(change_type(TRAFFIC)))
"""Changes to write to gold.traffic, see `lakehouse.delta.write_changes.change_type`."""


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
