"""Rows of gold.traffic: those that an update may change, and their changes by differences."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.revisions import Progress, Sums, WindowKey, WindowRow, revise, sum_differences
from folds.windows.window_rules import WindowRules
from gold.traffic.differences import DIFFERENCES
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows, map_groups, with_key
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import LAST, to_micros

CHANGES = pa.schema(list(change_type(TRAFFIC)))
"""Changes to write to gold.traffic, see `lakehouse.delta.write_changes.change_type`."""


def read_affected_rows(
    lake: Lakehouse, differences: DataFrame | None, near: TimePruner, watermark: Progress, rules: WindowRules
) -> DataFrame:
    """Rows with differences, ended by the watermark, or with a trigger that may fire.

    Args:
        lake: the tables.
        differences: checkpointed; None if there are none.
        near: time ranges that contain these starts.
        watermark: how far results are complete.
        rules: of all windows.
    """
    is_timed = any(rule.trigger and rule.trigger.every for rule in rules.values())
    latest = to_micros(LAST) if is_timed else watermark.now
    has_ended = TimePruner.of_spans([(watermark.before + 1, latest)]).contains("window_end")
    rows = lake.read(TRAFFIC.name)
    if differences is None:
        return rows.where(has_ended)
    changed = differences.select("window_start", F.lit(True).alias("is_changed")).distinct()
    rows = rows.where(has_ended | near.contains("window_start"))
    return rows.join(F.broadcast(changed), "window_start", "left").where(has_ended | F.col("is_changed"))


def revise_rows(
    rows: DataFrame,
    differences: DataFrame | None,
    watermark: Progress,
    rules: WindowRules,
    is_total: bool = False,
) -> DataFrame:
    """`CHANGES` of rows of gold.traffic; see `folds.windows.revisions.revise`."""
    kinds = {"row": with_key(rows, "window_start", TRAFFIC.column_names)}
    if differences is not None:
        kinds["difference"] = with_key(differences, "window_start", DIFFERENCES.names)
    fold = partial(_fold_revisions, watermark=watermark, rules=rules, is_total=is_total)
    return map_groups(kinds, fold, CHANGES)


def _fold_revisions(
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
