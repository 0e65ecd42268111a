"""Counting what expectations ask for: one aggregate over one frame, however many they are."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.expectations.conditions import ROW_COUNT, counted, unexpected
from lakehouse.expectations.declared import RECORDS, ROWS, Expectation
from lakehouse.expectations.verdicts import Counts

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
        self._columns = [column for each in expectations for column in _counts(each)]

    def count(self, frame: DataFrame, parameters: Mapping[str, int] | None = None) -> Counts:
        """Count the rows of a frame.

        Args:
            frame: with `_table` and `_is_record`, unless it is of hours.
            parameters: numbers that are known only now, which expectations name as `$PARAMETER`.
        """
        if not self._expectations:
            return {}
        found = frame.agg(*self._columns).collect()[0]
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


def _counts(expectation: Expectation) -> tuple[Column, Column]:
    about = scope_of(expectation)
    if expectation.kind == ROW_COUNT:
        return F.count_if(F.expr(about)), F.lit(0)
    return F.count_if(F.expr(about)), F.count_if(F.expr(f"{about} AND {unexpected(expectation)}"))


def scope_of(expectation: Expectation) -> str:
    """Which rows of a frame of several tables an expectation is about."""
    of = {ROWS: f"{SOURCE} = '{expectation.table}' AND ", RECORDS: f"{IS_RECORD} AND "}
    return f"{of.get(expectation.of, '')}({counted(expectation)})"
