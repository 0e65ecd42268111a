"""Tables on disk, as another program finds them: their rows, their versions, how far they have come."""

from typing import Any

import polars as pl
from deltalake import DeltaTable

from kit.home import Home
from lakehouse.contracts import TABLES

OF_EVENTS = tuple(name for name in TABLES if not name.startswith("ops."))


def deterministic_columns(home: Home, name: str) -> list[tuple[Any, ...]]:
    """A table's rows, in order, without the columns that follow from the order of arrival; [] without one."""
    if not commits(home, name):
        return []
    frame = pl.scan_delta(folder(home, name)).select(TABLES[name].deterministic_columns)
    return sorted(_FOLDED.get(name, lambda rows: rows)(frame).collect().rows(), key=repr)


def _sum_minutes(changes: pl.LazyFrame) -> pl.LazyFrame:
    """What visitors' minutes come to: in how many steps hangs on the batches."""
    cell = ("visitor_id", "minute", "channel")
    sums = changes.filter(pl.col("visitor_id").is_not_null()).group_by(cell).sum()
    return sums.filter(pl.any_horizontal(pl.exclude(*cell) != 0))


def _stand(changes: pl.LazyFrame) -> pl.LazyFrame:
    """What windows come to: rows that were put in and not taken out."""
    put = pl.when(pl.col("change") == "replace").then(1).otherwise(-1).alias("_put")
    window = pl.exclude("change", "_put")
    return changes.with_columns(put).group_by(window).agg(pl.col("_put").sum()).filter(pl.col("_put") != 0)


def _without_values(sketches: pl.LazyFrame) -> pl.LazyFrame:
    """Sketches but for those of many values, which compact by chance."""
    return sketches.drop("order_values")


_FOLDED = {
    "gold.visitor_minutes": _sum_minutes,
    "gold.traffic_changes": _stand,
    "gold.sketches": _without_values,
}
"""Journals: how many changes it took depends on the batches, what they come to does not."""


def differences(home: Home, other: Home, *names: str) -> dict[str, tuple[int, int]]:
    """By table, of these or of all but ops, that is not the same in both: how many rows each has alone."""
    found = {}
    for name in names or OF_EVENTS:
        ours, theirs = (deterministic_columns(each, name) for each in (home, other))
        if ours != theirs:
            found[name] = (len(set(ours) - set(theirs)), len(set(theirs) - set(ours)))
    return found


def versions(home: Home) -> dict[str, tuple[int, int]]:
    """Version and rows of each table that is there."""
    tables = {name: DeltaTable(folder(home, name)) for name in TABLES if commits(home, name)}
    return {name: (table.version(), table.count()) for name, table in tables.items()}


def commits(home: Home, name: str) -> int:
    """Commits of a table so far, that of its making included; 0 where there is none yet."""
    log = home.path / "warehouse" / name.replace(".", "/") / "_delta_log"
    return sum(1 for _ in log.glob("*.json"))


def folder(home: Home, name: str) -> str:
    """Where a table lies."""
    return str(home.path / "warehouse" / name.replace(".", "/"))
