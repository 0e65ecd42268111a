"""Counting what expectations ask for: one aggregate over one frame, however many they are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.quality.evaluation import Counts
from lakehouse.quality.sql_conditions import ROW_COUNT, counted, unexpected
from lakehouse.quality.suites import RECORDS, ROWS, Expectation
from lakehouse.rows.duckdb_sql import requoted

SOURCE = "_table"
"""The column of a frame of several tables that says which one a row is of."""

IS_RECORD = "_is_record"
"""The column that says whether the row stands for a record that came in."""


class Measure:
    """An aggregate for some expectations, made once: Python takes longer to make it than Spark to plan it.

    Args:
        expectations: about values of a column, over frames that have the columns they name.
    """

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        self._expectations = expectations
        self._sql = [count for each in expectations for count in _counts(each)]
        self._columns = [F.expr(count) for count in self._sql]

    def count(self, frame: DataFrame, parameters: Mapping[str, int] | None = None) -> Counts:
        """Count the rows of a frame.

        Args:
            frame: with `_table` and `_is_record`, unless it is of hours.
            parameters: numbers that are known only now, which expectations name as `$PARAMETER`.
        """
        return self._by_expectation(frame.agg(*self._columns).collect()[0], parameters) if self._sql else {}

    def count_in(
        self, connection: Any, parts: Iterable[str], parameters: Mapping[str, int] | None = None
    ) -> Counts:
        """Count rows in DuckDB.

        Args:
            connection: of `lakehouse.rows.duckdb_sql.connect`.
            parts: queries of them, with the columns that `count` wants; each is run before the next is taken.
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
    """A number of rows as counts: how many there are or should be, and how many are missing or too many."""
    value = expectation.arguments["value"]
    wanted = parameters[value["$PARAMETER"]] if isinstance(value, dict) else value
    return max(rows, wanted), abs(rows - wanted)


def _counts(expectation: Expectation) -> tuple[str, str]:
    about = scope_of(expectation)
    if expectation.kind == ROW_COUNT:
        return f"count_if({about})", "0"
    return f"count_if({about})", f"count_if({about} AND {unexpected(expectation)})"


def scope_of(expectation: Expectation) -> str:
    """Which rows of a frame of several tables an expectation is about."""
    of = {ROWS: f"{SOURCE} = '{expectation.table}' AND ", RECORDS: f"{IS_RECORD} AND "}
    return f"{of.get(expectation.of, '')}({counted(expectation)})"
