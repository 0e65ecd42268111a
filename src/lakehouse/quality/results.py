"""Writes results of expectations to ops.expectations."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.quality.evaluation import Result
from lakehouse.quality.history import EVALUATIONS, History, WrittenCounts, enough_rows, history_of
from lakehouse.quality.suites import STOP, Expectation
from lakehouse.rows.arrow_frames import rows_of as tuples_of
from lakehouse.run.ledger import now
from lakehouse.timestamps import EPOCH, to_micros

NAME = "ops.expectations"
_WRITE_INTERVAL = timedelta(seconds=30)


def run_id_of(job: str, after: datetime, upto: datetime) -> str:
    """Id of an evaluation of these rows; the same if the evaluation is repeated."""
    return hashlib.sha256(f"{job}|{to_micros(after)}|{to_micros(upto)}".encode()).hexdigest()[:16]


def rows_of(job: str, after: datetime, upto: datetime, results: Iterable[Result]) -> list[dict[str, Any]]:
    """Results as rows of ops.expectations."""
    shared = {
        "run_id": run_id_of(job, after, upto),
        "job": job,
        "after": after,
        "upto": upto,
        "run_at": now(),
    }
    return [
        {
            **shared,
            "table": result.expectation.table,
            "expectation": result.expectation.kind,
            "column": result.expectation.column,
            "success": result.success,
            "severity": result.severity,
            "observed": float(result.observed),
            "unexpected_count": result.unexpected,
            "name": result.expectation.name,
            "rows": result.rows,
        }
        for result in results
    ]


def _latest_accepted(
    rows: DataFrame, expectations: Collection[Expectation], released: Collection[str]
) -> DataFrame:
    """The results of publish that count as history: of each expectation, the latest `EVALUATIONS`."""
    accepted = F.col("success") | (F.col("severity") != STOP) | F.col("run_id").isin(*released)
    latest = Window.partitionBy("table", "name").orderBy(F.desc("upto"), F.desc("run_at"))
    written = rows.where(F.col("job") == "publish").where(accepted).where(_is_decided(expectations))
    ranked = written.withColumn("place", F.row_number().over(latest))
    return ranked.where(F.col("place") <= EVALUATIONS)


def _is_decided(expectations: Collection[Expectation]) -> Column:
    """A condition: a row is of one of the expectations, on enough rows to decide it."""
    conditions = (
        (F.col("table") == each.table) & (F.col("name") == each.name) & (F.col("rows") >= enough_rows(each))
        for each in expectations
    )
    return reduce(or_, conditions)


def read_history(
    lake: Lakehouse, expectations: Collection[Expectation], released: Collection[str]
) -> History:
    """The history of expectations with a margin, from the results that publish wrote.

    Args:
        lake: the tables.
        expectations: the current expectations.
        released: see `history_of`.
    """
    compared = [each for each in expectations if each.margin is not None]
    if not compared:
        return History()
    columns = ("run_id", "table", "name", "success", "severity", "rows", "unexpected_count", "upto")
    found = lake.find(NAME, lambda rows: _latest_accepted(rows, compared, released).select(*columns))
    rows = sorted(tuples_of(found, columns), key=lambda row: row[-1])
    return history_of(compared, (WrittenCounts(*row[:-1]) for row in rows), released)


def write_results(lake: Lakehouse, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows in one commit."""
    lake.append(NAME, pa.Table.from_pylist(list(rows), arrow_schema(TABLES[NAME])))


class ResultBuffer:
    """Collects rows of ops.expectations, so that not every micro-batch commits some.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._rows: list[dict[str, Any]] = []
        self._written_at = EPOCH

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows."""
        self._rows += rows

    def write(self, always: bool) -> None:
        """Write the rows, unless `always` is false and some were written in the last 30 seconds."""
        if self._rows and (always or now() - self._written_at >= _WRITE_INTERVAL):
            write_results(self._lake, self._rows)
            self._rows, self._written_at = [], now()
