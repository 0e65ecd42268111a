"""Counts rows in scope and violations of expectations: one aggregate per frame, one Spark job for all."""

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.quality.evaluation import Counts
from lakehouse.quality.sql_conditions import ROW_COUNT, scope_sql, violation_sql
from lakehouse.quality.suites import RECORDS, ROWS, Expectation

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
        sql = ", ".join(count for each in expectations for count in _counts(each))
        self._counts = F.expr(f"array({sql})").alias("counts")

    def __bool__(self) -> bool:
        """Whether there is an expectation."""
        return bool(self._expectations)

    def aggregate(self, frame: DataFrame) -> DataFrame:
        """One row with `counts`, an array: for each expectation, rows in scope, and violations."""
        return frame.agg(self._counts)

    def by_expectation(self, counts: Sequence[int], parameters: Mapping[str, int]) -> Counts:
        """The values of `aggregate` by expectation."""
        return {
            each.id: _of_number(each, counts[2 * place], parameters)
            if each.kind == ROW_COUNT
            else (counts[2 * place], counts[2 * place + 1])
            for place, each in enumerate(self._expectations)
        }


Counted = tuple[SuiteMetrics, DataFrame]
"""Expectations, and their rows: with `_table` and `_is_record`, unless they are hours."""


def count_rows(suites: Sequence[Counted], parameters: Mapping[str, int] | None = None) -> Counts:
    """Count rows of several frames, in one Spark job. The driver gets one row per frame.

    Args:
        suites: expectations with their rows.
        parameters: values of `$PARAMETER` in expectations, by name.
    """
    rows = [
        metrics.aggregate(frame).withColumn("place", F.lit(place))
        for place, (metrics, frame) in enumerate(suites)
    ]
    counts: dict[str, tuple[int, int]] = {}
    for row in reduce(DataFrame.union, rows).collect() if rows else ():
        metrics, _ = suites[row.place]
        counts.update(metrics.by_expectation(row.counts, parameters or {}))
    return counts


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
