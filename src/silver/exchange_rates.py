"""Upserts silver.exchange_rates: the rate of each currency with its validity period."""

from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from folds.records.rate_history import RateRow, merge_rates
from lakehouse.contracts.arrow import arrow_schema, typed
from lakehouse.contracts.silver import EXCHANGE_RATES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import changes_between, write_changes
from lakehouse.rows.arrow_frames import rows_of, to_frame, transpose
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.driver_or_spark import Rows, on_driver

_COLUMNS = EXCHANGE_RATES.column_names
RATE_COLUMNS = tuple(name for name in _COLUMNS if name not in ("valid_to", "records"))
"""Columns that come from one record."""


def upsert_rates(lake: Lakehouse, accepted: Rows, upto: datetime) -> None:
    """Upsert accepted records into silver.exchange_rates.

    Args:
        lake: the tables.
        accepted: rate records from `silver.parsing.record_parser` that the table does not contain yet.
        upto: high-water mark (ingest stamp) of the table after this commit.
    """
    new = _rows_of(accepted)
    if new:
        theirs = ("currency", {row.currency for row in new})
        known = lake.find(EXCHANGE_RATES.name, Lookup(_COLUMNS, key=theirs))
        merged = _table([*map(RateRow._make, rows_of(known, _COLUMNS)), *new])
        write_changes(lake, EXCHANGE_RATES.name, changes_between(EXCHANGE_RATES, known, merged), upto)


def all_rates(spark: SparkSession, accepted: Rows) -> DataFrame:
    """Compute all rows of silver.exchange_rates from all accepted records."""
    return to_frame(spark, typed(EXCHANGE_RATES, _table(_rows_of(accepted))))


def _rows_of(accepted: Rows) -> list[RateRow]:
    """Convert rate records to rows."""
    rows = rows_of(on_driver(accepted), RATE_COLUMNS)
    return [RateRow(**dict(zip(RATE_COLUMNS, row, strict=True)), valid_to=None, records=1) for row in rows]


def _table(rows: list[RateRow]) -> pa.Table:
    """Merge the rows of each rate, with times in microseconds."""
    schema = arrow_schema(EXCHANGE_RATES)
    table = pa.Table.from_arrays(transpose(merge_rates(rows), list(schema)), schema=schema)
    return in_micros(table)
