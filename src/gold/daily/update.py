"""Updates of daily tables: affected days are recomputed, and rows that differ are written."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime

from pyspark.sql import DataFrame, SparkSession

from gold.credit.dimensions import Dimensions
from gold.daily.business_days import BusinessDays, days_since
from gold.daily.campaigns import campaign_performance
from gold.daily.funnel import funnel
from gold.daily.inputs import DayInputs
from gold.daily.promotions import CONVERTING, promotion_performance
from gold.daily.results import result_performance
from gold.daily.searches import search_performance
from gold.daily.sketches import build_sketches, sketch_rows
from lakehouse.contracts import TABLES
from lakehouse.contracts.daily import (
    CAMPAIGN_PERFORMANCE,
    FUNNEL,
    PROMOTION_PERFORMANCE,
    RESULT_PERFORMANCE,
    SEARCH_PERFORMANCE,
    SKETCHES,
)
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import changes_between, write_changes
from lakehouse.rows.driver_or_spark import Rows, as_frame, on_driver
from lakehouse.rows.sql import Dialect, run_sql

QUERIES: Mapping[str, Callable[[Dialect], str]] = {
    CAMPAIGN_PERFORMANCE.name: campaign_performance,
    SEARCH_PERFORMANCE.name: search_performance,
    RESULT_PERFORMANCE.name: result_performance,
    PROMOTION_PERFORMANCE.name: promotion_performance,
    FUNNEL.name: funnel,
    SKETCHES.name: sketch_rows,
}
"""By table, its query over the inputs of `DayInputs`."""

_FOLDS: Mapping[str, Callable[[Rows, SparkSession], Rows]] = {SKETCHES.name: build_sketches}
"""By table, a function from rows of the query to rows of the table, where they differ."""

_TOGETHER = 31
"""Maximum number of days per computation: old and new rows are compared on the driver."""


class Daily:
    """Updates the daily tables.

    Args:
        lake: the tables.
        zone: the business time zone.
    """

    def __init__(self, lake: Lakehouse, zone: str) -> None:
        self._lake = lake
        self._zone = zone

    def update(
        self, days: Collection[date], dimensions: Dimensions, orders: Iterable[str], upto: datetime
    ) -> None:
        """Recompute some days.

        Args:
            days: days with changes. Days of clicks that their orders may count for are recomputed, too.
            dimensions: the current dimensions, for the bots.
            orders: goals that are orders.
            upto: high-water mark of gold, an ingest stamp.
        """
        inputs = DayInputs(self._lake, self._zone, dimensions, orders)
        in_order = sorted({each for day in days for each in days_since(day, CONVERTING, self._zone)})
        for first in range(0, len(in_order), _TOGETHER):
            some = BusinessDays(in_order[first : first + _TOGETHER], self._zone)
            given = inputs.of_days(some)
            for name in QUERIES:
                self._write(name, self._run(name, given), some, upto)

    def compute(self, name: str, dimensions: Dimensions, orders: Iterable[str]) -> DataFrame:
        """All rows of a table."""
        given = DayInputs(self._lake, self._zone, dimensions, orders).of_all()
        return as_frame(self._lake.spark, self._run(name, given))

    def _run(self, name: str, inputs: Mapping[str, Rows]) -> Rows:
        rows = run_sql(QUERIES[name], inputs)
        return _FOLDS[name](rows, self._lake.spark) if name in _FOLDS else rows

    def _write(self, name: str, rows: Rows, days: BusinessDays, upto: datetime) -> None:
        table = TABLES[name]
        before = self._lake.find(name, Lookup(table.column_names, key=("day", days.days)))
        write_changes(self._lake, name, changes_between(table, before, on_driver(rows)), upto)
