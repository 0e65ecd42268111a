"""One SQL text over rows on the driver or in Spark, run by DuckDB or by Spark."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from pyspark.sql import DataFrame

from lakehouse.rows.driver_or_spark import Rows
from lakehouse.rows.duckdb_sql import connect


class Dialect(Protocol):
    """SQL expressions that differ between the two engines."""

    def explode(self, array: str) -> str:
        """One row per element of an array, as a column of a SELECT."""
        ...

    def structs(self, names: Sequence[str], order: str) -> str:
        """An aggregate: structs of some columns as an array, ordered by another column."""
        ...

    def else_empty(self, array: str) -> str:
        """An array, or an empty one if it is null."""
        ...


class _Spark:
    def explode(self, array: str) -> str:
        return f"EXPLODE({array})"

    def else_empty(self, array: str) -> str:
        return f"COALESCE({array}, ARRAY())"

    def structs(self, names: Sequence[str], order: str) -> str:
        fields = ", ".join(f"each.{name} AS {name}" for name in names)
        ordered = f"SORT_ARRAY(COLLECT_LIST(STRUCT({order}, {', '.join(names)})))"
        return f"TRANSFORM({ordered}, each -> STRUCT({fields}))"


class _DuckDB:
    def explode(self, array: str) -> str:
        return f"UNNEST({array})"

    def else_empty(self, array: str) -> str:
        return f"COALESCE({array}, [])"

    def structs(self, names: Sequence[str], order: str) -> str:
        fields = ", ".join(f"{name} := {name}" for name in names)
        return f"LIST(STRUCT_PACK({fields}) ORDER BY {order})"


def run_sql(query: Callable[[Dialect], str], inputs: Mapping[str, Rows]) -> Rows:
    """Run a query in the engine that has its inputs.

    Args:
        query: returns the text for a dialect, in which `{name}` stands for an input; with Spark's number
            types, and only functions that both engines have.
        inputs: rows by name, all on the driver or all frames; times in microseconds.
    """
    frames = {name: rows for name, rows in inputs.items() if isinstance(rows, DataFrame)}
    if frames:
        text = query(_Spark())
        used: dict[str, Any] = {name: rows for name, rows in frames.items() if f"{{{name}}}" in text}
        return next(iter(frames.values())).sparkSession.sql(text, **used)
    with _database().cursor() as connection:
        for name, rows in inputs.items():
            connection.register(name, rows)
        found = connection.sql(query(_DuckDB()).format(**{name: name for name in inputs}))
        return found.to_arrow_table()


@lru_cache(maxsize=1)
def _database() -> Any:
    """An in-memory DuckDB, which takes longer to make than a small query; inputs belong to a cursor."""
    return connect()
