"""Rows that silver, gold and the kernel collect to the driver: a list of aggregates, each with its bound."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_SRC = Path(__file__).resolve().parents[1] / "src"
_COLLECTING = frozenset(
    ("collect", "toPandas", "toArrow", "toLocalIterator", "take", "first", "head", "tail")
)
_OBSERVING = frozenset(("checkpoint_with", "checkpoint_changes", "observe"))
_HOURS = "one row: ranges of hours or seconds"
_ONE_ROW = "one row: counts, latest times, high-water marks"
_HOURS_AND_COUNTS = "one row: counts, and ranges of hours"
_EXTENTS = "one row: for each table, counts of changes and ranges of hours"

ALLOWED = {
    ("gold/changed_quarters.py", "changed_quarters"): "one row: ranges of quarter-hours",
    ("gold/credit/affected_conversions.py", "find_affected"): _HOURS_AND_COUNTS,
    ("gold/credit/area.py", "load_area"): _HOURS,
    ("gold/credit/area.py", "new_moments"): _HOURS_AND_COUNTS,
    ("gold/daily/update.py", "update"): _EXTENTS,
    ("gold/cohorts/persons.py", "_compute"): _EXTENTS,
    ("gold/orders/order_comparisons.py", "_write"): _EXTENTS,
    ("gold/timeline/visitor_timeline.py", "_write"): _EXTENTS,
    ("gold/erasure.py", "_moments"): _HOURS,
    ("gold/publish.py", "publish"): _EXTENTS,
    ("gold/publish.py", "_write_minutes"): _ONE_ROW,
    ("gold/traffic/closed_windows.py", "_find"): _HOURS,
    ("gold/traffic/new_minutes.py", "find_new_minutes"): _HOURS_AND_COUNTS,
    ("gold/traffic/traffic_progress.py", "last_sequence"): "one row: the latest sequence",
    ("lakehouse/delta/write_changes.py", "checkpoint_changes"): _EXTENTS,
    ("lakehouse/erasure/blank_records.py", "blank_records"): _HOURS_AND_COUNTS,
    ("silver/erasure.py", "_recompute"): _EXTENTS,
    ("silver/old_records.py", "remove_old_content"): "a row per day of old records",
    ("silver/old_records.py", "require_content"): "one row: the latest time of records without content",
    ("lakehouse/delta/write_changes.py", "write_changes"): _EXTENTS,
    ("lakehouse/run/side_topics.py", "require_side_topics"): "one row: a topic",
    ("silver/dedup/classify.py", "count_records"): _HOURS_AND_COUNTS,
    ("silver/refine.py", "_write_visits"): _EXTENTS,
    ("silver/repair.py", "__call__"): _HOURS_AND_COUNTS,
    ("silver/repair.py", "_write_dimensions"): _EXTENTS,
    ("silver/repair.py", "_write_visits"): _EXTENTS,
    ("silver/people/consents.py", "add_changes"): _EXTENTS,
    ("silver/people/shared_visitors.py", "add_changes"): _EXTENTS,
    ("silver/visits/visit_history.py", "affected_rows"): _HOURS,
    ("gold/credit/affected_conversions.py", "_of_orders"): _HOURS,
    ("gold/credit/area.py", "_near"): _HOURS,
    ("gold/credit/consents.py", "moments_of_new_consents"): "one row: the first time that a changed span has",
    ("gold/credit/dimensions.py", "_tables_with"): "a row per table of silver that is a dimension",
    ("gold/daily/summaries.py", "_new_minutes"): "one row: a count, and the days of new minutes",
    ("gold/daily/summaries.py", "_days_of_costs"): "one row: the days of costs that changed",
    ("gold/daily/customer_days.py", "affected"): "one row: the days of conversions since a change",
    ("gold/changed_versions.py", "earliest"): "one row: the first time of new changes",
    ("gold/items/conversion_items.py", "_write"): _EXTENTS,
    ("gold/gate/mlflow_quality.py", "_offsets"): "a row per topic and partition",
    ("gold/models/path_fold.py", "credit_of_periods"): "a row per period, model and channel",
    ("gold/models/path_fold.py", "path_file"): "one row: the path file of a period, which is an artifact",
    ("gold/traffic/closing_windows.py", "closing_ends"): "a row per kind of window by number of events",
    ("gold/traffic/closing_windows.py", "last_ends"): "a row per kind of window by number of events",
    ("lakehouse/access/masks.py", "_hashed"): "Arrow's take: a reader without a JVM",
    ("lakehouse/delta/row_pairs.py", "_as_structs"): "Arrow's take: a reader without a JVM",
    ("lakehouse/delta/ddl.py", "_store_changes"): "one row: a property of one table",
    ("lakehouse/delta/ddl.py", "is_set"): "one row: a property of one table",
    ("lakehouse/delta/commit_log.py", "_ask"): "a row per commit in the log, of a catalog's table",
    ("lakehouse/delta/count_by_stamp.py", "count_by_stamp"): "a row per commit that the ledger lacks",
    (
        "lakehouse/delta/delta_tables.py",
        "find",
    ): "rows of tables of ops, which name micro-batches and results",
    ("lakehouse/maintenance/predictive_optimization.py", "_value"): "a row per property of one schema",
    ("lakehouse/maintenance/spark_table.py", "_detail"): "one row: number of files and properties",
    ("lakehouse/maintenance/spark_table.py", "compact"): "one row: numbers of files",
    ("lakehouse/quality/metrics.py", "count_rows"): "a row per frame: counts of expectations",
    ("lakehouse/rows/checkpointing.py", "checkpoint_with"): "one row: aggregates of all rows",
    ("silver/dedup/deduplicate.py", "known_events"): _HOURS,
    ("silver/rebuild_definitions.py", "watermarks_before"): "Spark's aggregate `first`",
    ("silver/reparse_rejected.py", "reparse_rejected"): "a row per reason",
    ("silver/watermark.py", "_fold"): "one row: live producers, and switches between live and not",
    ("silver/watermark.py", "_latest_unpromised"): _ONE_ROW,
}


def collecting_calls(package: Path) -> Iterator[tuple[str, str]]:
    """File and function of each call that brings rows to the driver."""
    for file in sorted(package.rglob("*.py")):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and any(map(is_collecting, ast.walk(function))):
                yield str(file.relative_to(package.parent)), function.name


def is_collecting(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    return called in _OBSERVING or (isinstance(node.func, ast.Attribute) and called in _COLLECTING)


def test_only_bounded_aggregates_are_collected_to_the_driver() -> None:
    found = {call for package in ("silver", "gold", "lakehouse") for call in collecting_calls(_SRC / package)}
    assert found == ALLOWED.keys()


@pytest.mark.parametrize("call", sorted(_COLLECTING | _OBSERVING))
def test_new_collecting_call_is_found(tmp_path: Path, call: str) -> None:
    (tmp_path / "silver").mkdir()
    (tmp_path / "silver" / "job.py").write_text(f"def read(frame):\n    return frame.{call}()\n")
    assert list(collecting_calls(tmp_path / "silver")) == [("silver/job.py", "read")]
