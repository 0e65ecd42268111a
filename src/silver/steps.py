"""Columns worked out one after another."""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame

Steps = list[dict[str, Column]]
"""Columns by name, step by step; each may use those of the steps before, and all that were there."""


def take(rows: DataFrame, steps: Iterable[dict[str, Column]]) -> DataFrame:
    """The rows with the columns of all steps, without those whose name begins with an underscore."""
    for step in steps:
        rows = rows.withColumns(step)
    return rows.drop(*(name for name in rows.columns if name.startswith("_")))
