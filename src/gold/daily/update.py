"""Updates of daily tables: affected days are recomputed, and rows that differ are written."""

from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.credit.dimensions import Dimensions
from gold.daily.business_days import BusinessDays, days_since
from gold.daily.campaigns import campaign_performance
from gold.daily.custom_dimensions import dimension_performance
from gold.daily.day_rules import DayRules
from gold.daily.funnel import funnel
from gold.daily.funnel_by_dimension import funnel_by_dimension
from gold.daily.inputs import DayInputs
from gold.daily.promotions import CONVERTING, promotion_performance
from gold.daily.results import result_performance
from gold.daily.searches import search_performance
from gold.daily.sketches import build_sketches, sketch_rows
from lakehouse.contracts import TABLES
from lakehouse.contracts.daily import (
    CAMPAIGN_PERFORMANCE,
    DIMENSION_PERFORMANCE,
    FUNNEL,
    FUNNEL_BY_DIMENSION,
    PROMOTION_PERFORMANCE,
    RESULT_PERFORMANCE,
    SEARCH_PERFORMANCE,
    SKETCHES,
)
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.run.concurrent import run_concurrently

QUERIES: Mapping[str, str] = {
    CAMPAIGN_PERFORMANCE.name: campaign_performance(),
    SEARCH_PERFORMANCE.name: search_performance(),
    RESULT_PERFORMANCE.name: result_performance(),
    PROMOTION_PERFORMANCE.name: promotion_performance(),
    FUNNEL.name: funnel(),
    DIMENSION_PERFORMANCE.name: dimension_performance(),
    FUNNEL_BY_DIMENSION.name: funnel_by_dimension(),
    SKETCHES.name: sketch_rows(),
}
"""By table, its query over the inputs of `DayInputs`."""

_FOLDS: Mapping[str, Callable[[DataFrame], DataFrame]] = {SKETCHES.name: build_sketches}
"""By table, a function from rows of the query to rows of the table, where they differ."""

_OF_DAYS_BEFORE = {PROMOTION_PERFORMANCE.name, SEARCH_PERFORMANCE.name, RESULT_PERFORMANCE.name}
"""An order counts on the day of a click up to 24 hours before it, a click on the day of its search. Events of
a server are in no session, so nothing else says that the earlier day has changed."""

MOST_CHECKPOINTED = 300_000
"""Events of the days of one checkpoint. For more, each query reads the tables: docs/decisions/0077."""


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
        self,
        days: Collection[date],
        dimensions: Dimensions,
        rules: DayRules,
        upto: datetime,
        events: int,
        names: Collection[str] = tuple(QUERIES),
        **metadata: int,
    ) -> None:
        """Recompute some days. The changes of all tables are computed together, and then written.

        Args:
            days: days with changes. Some tables are recomputed for the days before, too.
            dimensions: the current dimensions, for the bots.
            rules: of the queries.
            upto: high-water mark of gold, an ingest stamp.
            events: number of events of the days, see `count_events`.
            names: the tables.
            metadata: further metadata of the commits.
        """
        given, both = BusinessDays(days, self._zone), self._with_days_before(days)
        queries = "".join(QUERIES[name] for name in names)
        checkpointed = events < MOST_CHECKPOINTED
        read = DayInputs(self._lake, self._zone, dimensions, rules)
        inputs = read.of_days(given, both, queries, checkpointed)
        tables = [TABLES[name] for name in names]
        days_of = {name: both.days if name in _OF_DAYS_BEFORE else given.days for name in names}
        before = {name: self._lake.read(name).where(F.col("day").isin(*days_of[name])) for name in names}
        after = {name: run_query(name, inputs) for name in names}
        changes, extents, _ = checkpoint_changes(folded_changes(tables, before, after, "day"), tables)
        run_concurrently(
            partial(write_kind, self._lake, table, changes, extents, upto, **metadata) for table in tables
        )

    def count_events(self, days: Collection[date], names: Collection[str] = tuple(QUERIES)) -> int:
        """Number of events of the days that `update` recomputes, and of those between scattered ones."""
        some = BusinessDays(days, self._zone)
        if not _OF_DAYS_BEFORE.isdisjoint(names):
            some = self._with_days_before(days)
        near = some.near_until(timedelta())
        return self._lake.read(EVENTS.name).where(near.contains("event_time")).count()

    def _with_days_before(self, days: Collection[date]) -> BusinessDays:
        """Days, and those in which 24 hours may start that end in them."""
        both = {each for day in days for each in days_since(day, CONVERTING, self._zone)}
        return BusinessDays(both, self._zone)

    def compute(self, name: str, dimensions: Dimensions, rules: DayRules) -> DataFrame:
        """All rows of a table."""
        return run_query(name, DayInputs(self._lake, self._zone, dimensions, rules).of_all())


def run_query(name: str, inputs: Mapping[str, Any]) -> DataFrame:
    """Rows of a daily table from its inputs, by name in the queries: frames first."""
    query = QUERIES[name]
    used: dict[str, Any] = {each: rows for each, rows in inputs.items() if f"{{{each}}}" in query}
    rows = next(iter(used.values())).sparkSession.sql(query, **used)
    return _FOLDS[name](rows) if name in _FOLDS else rows
