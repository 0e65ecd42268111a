"""Counts rows in scope and violations of all expectations in one aggregate over one frame."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.quality.evaluation import Counts
from lakehouse.quality.sql_conditions import ROW_COUNT, scope_sql, violation_sql
from lakehouse.quality.suites import RECORDS, ROWS, Expectation
from lakehouse.rows.duckdb_sql import requoted

SOURCE = "_table"
"""Column of a frame of several tables: the table of a row."""

IS_RECORD = "_is_record"
"""Column: whether the row is a Kafka record."""


class SuiteMetrics:
    """The aggregate of a suite of expectations, built once since that takes longer than planning it.

    Args:
        expectations: expectations on column values or row counts.
    """

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        self._expectations = expectations
        self._sql = [count for each in expectations for count in _counts(each)]
        self._columns = [F.expr(count) for count in self._sql]

    def count(self, frame: DataFrame, parameters: Mapping[str, int] | None = None) -> Counts:
        """Count the rows of a frame.

        Args:
            frame: with `_table` and `_is_record`, unless its rows are hours.
            parameters: values of `$PARAMETER` in expectations, by name.
        """
        return self._by_expectation(frame.agg(*self._columns).collect()[0], parameters) if self._sql else {}

    def count_in(
        self, connection: Any, parts: Iterable[str], parameters: Mapping[str, int] | None = None
    ) -> Counts:
        """Count rows in DuckDB.

        Args:
            connection: of `lakehouse.rows.duckdb_sql.connect`.
            parts: queries with the columns of `count`'s frame, run one after the other.
            parameters: as of `count`.
        """
        if not self._sql:
            return {}
        counts = ", ".join(map(requoted, self._sql))
        rows = (connection.execute(f"SELECT {counts} FROM ({part})").fetchall()[0] for part in parts)
        found = [sum(count or 0 for count in column) for column in zip(*rows, strict=True)]  # null of no row
        return self._by_expectation(found, parameters)

    def _by_expectation(self, found: Sequence[int], parameters: Mapping[str, int] | None) -> Counts:
        return {
            each.id: _of_number(each, found[2 * place], parameters or {})
            if each.kind == ROW_COUNT
            else (found[2 * place], found[2 * place + 1])
            for place, each in enumerate(self._expectations)
        }


def _of_number(expectation: Expectation, rows: int, parameters: Mapping[str, int]) -> tuple[int, int]:
    """A row count as counts: the larger of actual and wanted rows, and the difference between them."""
    value = expectation.arguments["value"]
    wanted = parameters[value["$PARAMETER"]] if isinstance(value, dict) else value
    return max(rows, wanted), abs(rows - wanted)


def _counts(expectation: Expectation) -> tuple[str, str]:
    about = scope_of(expectation)
    if expectation.kind == ROW_COUNT:
        return f"count_if({about})", "0"
    return f"count_if({about})", f"count_if({about} AND {violation_sql(expectation)})"


def scope_of(expectation: Expectation) -> str:
    """The rows of a frame of several tables that are in scope of an expectation."""
    of = {ROWS: f"{SOURCE} = '{expectation.table}' AND ", RECORDS: f"{IS_RECORD} AND "}
    return f"{of.get(expectation.of, '')}({scope_sql(expectation)})"
