"""Writes results of expectations to ops.expectations."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from lakehouse.contracts import TABLES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.quality.evaluation import Result
from lakehouse.quality.history import History, WrittenCounts, history_of
from lakehouse.quality.suites import Expectation
from lakehouse.rows.arrow_frames import rows_of as tuples_of
from lakehouse.run.ledger import now
from lakehouse.timestamps import to_micros

NAME = "ops.expectations"
_TYPES = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


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


def read_history(lake: Lakehouse, expectations: Collection[Expectation], released: Iterable[str]) -> History:
    """The history of expectations with a margin, from the results that publish wrote.

    Args:
        lake: the tables.
        expectations: the current expectations.
        released: see `history_of`.
    """
    compared = [each for each in expectations if each.margin is not None]
    if not compared:
        return History()
    columns = ("run_id", "table", "name", "success", "severity", "rows", "unexpected_count", "upto", "job")
    wanted = Lookup(columns, key=("name", {each.name for each in compared}))
    rows = sorted(tuples_of(lake.find(NAME, wanted), columns), key=lambda row: row[-2])
    written = (WrittenCounts(*row[:-2]) for row in rows if row[-1] == "publish")
    return history_of(compared, written, released)


def write_results(lake: Lakehouse, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows in one commit."""
    schema = pa.schema([(column.name, _TYPES[column.type]) for column in TABLES[NAME].columns])
    lake.append(NAME, pa.Table.from_pylist(list(rows), schema))
