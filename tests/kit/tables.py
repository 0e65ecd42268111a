"""Reads tables from disk without Spark: rows, versions, commits."""

from typing import Any

import polars as pl
from deltalake import DeltaTable

from kit.home import Home
from lakehouse.contracts import TABLES

OF_EVENTS = tuple(name for name in TABLES if not name.startswith("ops."))


def deterministic_columns(home: Home, name: str) -> list[tuple[Any, ...]]:
    """Sorted rows of a table, without provenance columns; [] if it does not exist."""
    if not commits(home, name):
        return []
    frame = pl.scan_delta(folder(home, name)).select(TABLES[name].deterministic_columns)
    return sorted(_FOLDED.get(name, lambda rows: rows)(frame).collect().rows(), key=repr)


def _sum_minutes(changes: pl.LazyFrame) -> pl.LazyFrame:
    """Sums of visitor minutes. The number of changes depends on the batches."""
    cell = ("visitor_id", "minute", "channel")
    sums = changes.filter(pl.col("visitor_id").is_not_null()).group_by(cell).sum()
    return sums.filter(pl.any_horizontal(pl.exclude(*cell) != 0))


def _without_values(sketches: pl.LazyFrame) -> pl.LazyFrame:
    """Sketches without order values: large ones are compacted at random."""
    return sketches.drop("order_values")


_FOLDED = {
    "gold.visitor_minutes": _sum_minutes,
    "gold.sketches": _without_values,
}
"""Reductions applied before a comparison to tables whose rows depend on the batches."""


def differences(home: Home, other: Home, *names: str) -> dict[str, tuple[int, int]]:
    """Differing tables (all but ops by default), with the number of rows that only one home has."""
    found = {}
    for name in names or OF_EVENTS:
        ours, theirs = (deterministic_columns(each, name) for each in (home, other))
        if ours != theirs:
            found[name] = (len(set(ours) - set(theirs)), len(set(theirs) - set(ours)))
    return found


def versions(home: Home) -> dict[str, tuple[int, int]]:
    """Version and row count of each existing table."""
    tables = {name: DeltaTable(folder(home, name)) for name in TABLES if commits(home, name)}
    return {name: (table.version(), table.count()) for name, table in tables.items()}


def commits(home: Home, name: str) -> int:
    """Number of commits of a table, including its creation; 0 if it does not exist."""
    log = home.path / "warehouse" / name.replace(".", "/") / "_delta_log"
    return sum(1 for _ in log.glob("*.json"))


def folder(home: Home, name: str) -> str:
    """The folder of a table."""
    return str(home.path / "warehouse" / name.replace(".", "/"))
