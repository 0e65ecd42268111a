"""Counts what was sent and could not be read, and orders without a value, for `status`."""

from typing import Any

import polars as pl
from deltalake import DeltaTable

from folds.persons.refunds import load_order_rules
from folds.records.roles import load_role_rules
from lakehouse.contracts.silver import EVENTS
from lakehouse.settings import Settings
from millrace.tables.table_reader import open_table, scan

_UNREAD = pl.col("unread_value").is_not_null()


def unread_counts(settings: Settings) -> dict[str, int]:
    """Number of events by what could not be read: `unread_time` and `unread_value`.

    From the statistics of Delta's files, else from the two columns.
    """
    columns = ("unread_time", "unread_value")
    table = open_table(settings, EVENTS.name)
    if table is None:
        return dict.fromkeys(columns, 0)
    by_files = _by_statistics(table, columns)
    return by_files if by_files is not None else _by_rows(table, columns)


def unread_refunds(settings: Settings) -> int:
    """Number of refunds whose amount was sent and could not be read: they count for all that is left.

    Rows are read only if an amount of any event could not be read.
    """
    if not unread_counts(settings)["unread_value"]:
        return 0
    refunds = pl.col("goal").is_in(sorted(load_order_rules(settings.conf).refunds))
    events = scan(settings, EVENTS.name)
    return 0 if events is None else _count(events, refunds & _UNREAD & pl.col("value").is_null())


def without_value(settings: Settings) -> int:
    """Number of conversions of goals that should have a value, and have none."""
    conversions = scan(settings, "gold.conversions")
    if conversions is None:
        return 0
    tracks = load_role_rules(settings.conf).tracks
    goals = [name for name, rule in tracks.items() if rule.money and not rule.negate]
    lacking = pl.col("goal").is_in(goals) & pl.col("value").is_null()
    return _count(conversions, lacking)


def _count(rows: pl.LazyFrame, condition: pl.Expr) -> int:
    return int(rows.select(condition.sum()).collect().item())


def _by_statistics(table: DeltaTable, columns: tuple[str, ...]) -> dict[str, int] | None:
    """Non-null values by column; None if a file has no statistics on one."""
    files = pl.DataFrame(table.get_add_actions(flatten=True))
    counts = ["num_records", *(f"null_count.{name}" for name in columns)]
    if not set(counts) <= set(files.columns):
        return None
    files = files.filter(pl.col("num_records").ne_missing(0))
    if any(files[count].null_count() for count in counts):
        return None
    sums: dict[str, Any] = files.select(pl.col(counts).sum()).row(0, named=True)
    return {name: int(sums["num_records"] - sums[f"null_count.{name}"]) for name in columns}


def _by_rows(table: DeltaTable, columns: tuple[str, ...]) -> dict[str, int]:
    rows = pl.scan_delta(table)
    there = [name for name in columns if name in rows.collect_schema()]
    found = rows.select(pl.col(there).count()).collect().row(0, named=True) if there else {}
    return {name: int(found.get(name, 0)) for name in columns}
