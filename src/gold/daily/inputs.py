"""Inputs of the daily queries: rows of silver and gold with their day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.credit.dimensions import Dimensions
from gold.daily.business_days import BusinessDays, with_day
from gold.daily.customer_values import with_customer_values
from gold.daily.day_rules import DayRules
from gold.daily.promotions import CONVERTING
from lakehouse.contracts import Table
from lakehouse.contracts.costs import CAMPAIGN_COSTS
from lakehouse.contracts.exposures import SEARCH_RESULTS, SEARCHES
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES
from lakehouse.contracts.shop import CUSTOMERS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.rows.partitions import in_few_partitions

_DAY = "day"
_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")


@dataclass(frozen=True)
class _Input:
    """An input of the daily queries.

    Args:
        table: the table's contract.
        columns: columns that queries read; `day` is added, and `event_time` if rows have a time. Rows of
            bots, and those without consent to analytics, are dropped if visitor_id is among them; of
            gold.conversions, only the latter are.
        where: a column and its accepted values; None: all rows.
        after: rows up to this long after a day are read, too. Queries cannot use `day` of such an input.
        event: column of the UID of the event that a row counts by.
        of_days_before: rows of the days before are read, too, see `Daily.update`.
        has_customers: custom dimensions have those of the shop's customers, too.
    """

    table: Table
    columns: tuple[str, ...]
    where: tuple[str, tuple[str, ...]] | None = None
    after: timedelta = timedelta(0)
    event: str = "event_id"
    of_days_before: bool = False
    has_customers: bool = False

    @property
    def time(self) -> str:
        return str(self.table.event_time)


def _inputs(orders: tuple[str, ...]) -> dict[str, _Input]:
    """The inputs, by name in the queries."""
    who = ("visitor_id", "event_id")
    credit = ("promotion_id", "model", "credit", "is_counted", "credited_reporting_value")
    whose = ("conversion_id", "channel")
    values = "custom_dimensions"
    roles = ("impression", "page_view", "search")
    return {
        "events": _Input(EVENTS, (*who, "role", *_CAMPAIGN, "promotion_id", values), ("role", roles)),
        "promotion_impressions": _Input(
            EVENTS, ("visitor_id", "promotion_id"), ("role", ("impression",)), of_days_before=True
        ),
        "promotion_clicks": _Input(
            TOUCHES, ("visitor_id", "promotion_id"), ("kind", ("click",)), of_days_before=True
        ),
        "clicks": _Input(TOUCHES, (*who, *_CAMPAIGN, "promotion_id"), ("kind", ("click",))),
        "sessions": _Input(
            SESSIONS,
            ("visitor_id", "first_event_id", "channel", values, *_CAMPAIGN),
            event="first_event_id",
        ),
        "searches": _Input(
            SEARCHES,
            ("visitor_id", "query", "outcome", "clicks", "clicked_products"),
            of_days_before=True,
        ),
        "attribution": _Input(ATTRIBUTION, (*whose, *_CAMPAIGN, *credit)),
        "conversions": _Input(CONVERSIONS, ("conversion_id", values), has_customers=True),
        "results": _Input(
            SEARCH_RESULTS,
            ("visitor_id", "query", "rank", "outcome"),
            event="search_event_id",
            of_days_before=True,
        ),
        "costs": _Input(CAMPAIGN_COSTS, (*_CAMPAIGN, "reporting_cost")),
        "orders": _Input(CONVERSIONS, (*who, "conversion_id"), ("goal", orders)),
        "next_orders": _Input(
            CONVERSIONS, ("visitor_id",), ("goal", orders), CONVERTING, of_days_before=True
        ),
    }


class DayInputs:
    """Reads the inputs of the daily queries.

    Args:
        lake: the tables.
        zone: the business time zone.
        dimensions: the current dimensions, for the bots.
        rules: of the queries.
    """

    def __init__(self, lake: Lakehouse, zone: str, dimensions: Dimensions, rules: DayRules) -> None:
        self._lake = lake
        self._zone = zone
        self._dimensions = dimensions
        self._inputs = _inputs(rules.orders)
        self._of_customers = rules.of_customers
        self._numbers = {
            "dimension_names": rules.dimension_names,
            "session_names": rules.session_names,
            "max_values": rules.max_values,
        }

    def of_days(
        self, days: BusinessDays, with_days_before: BusinessDays, queries: str, checkpointed: bool
    ) -> Mapping[str, Any]:
        """Rows of some days of the inputs of some queries, and the rules.

        Args:
            days: the days.
            with_days_before: the days, and those before them.
            queries: text of the queries.
            checkpointed: whether all queries read one checkpoint, with all columns of all inputs, instead of
                the tables.
        """
        used = {name: each for name, each in self._inputs.items() if f"{{{name}}}" in queries}
        rows = {
            name: self._of_days(each, with_days_before if each.of_days_before else days)
            for name, each in used.items()
        }
        if checkpointed:
            both = checkpoint(_union_of(rows))
            rows = {name: rows_of_kind(both, name) for name in used}
        return rows | self._numbers

    def of_all(self) -> Mapping[str, Any]:
        """All rows, and the rules."""
        return {
            name: self._dated(each, self._read(each)) for name, each in self._inputs.items()
        } | self._numbers

    def _of_days(self, wanted: _Input, days: BusinessDays) -> DataFrame:
        rows = self._read(wanted)
        if wanted.time != _DAY:
            rows = rows.where(days.near_until(wanted.after).contains(wanted.time))
        dated = self._dated(wanted, rows)
        return dated if wanted.after else dated.where(F.col("day").isin(*days.days))

    def _read(self, wanted: _Input) -> DataFrame:
        rows = self._lake.read(wanted.table.name)
        return rows if wanted.where is None else rows.where(F.col(wanted.where[0]).isin(*wanted.where[1]))

    def _dated(self, wanted: _Input, rows: DataFrame) -> DataFrame:
        rows = self._counted(wanted, rows)
        if wanted.has_customers and self._of_customers:
            rows = with_customer_values(rows, self._lake.read(CUSTOMERS.name), self._of_customers)
        if wanted.time == _DAY:
            return rows.select(_DAY, *wanted.columns)
        return with_day(rows.select(*wanted.columns, wanted.time), wanted.time, self._zone)

    def _counted(self, wanted: _Input, rows: DataFrame) -> DataFrame:
        """Rows that count in figures of visitors.

        Of bots, gold.conversions has only refunds and cancellations of people's orders, which count.
        """
        if wanted.table is CONVERSIONS:
            return rows.where("has_analytics_consent IS NOT FALSE")
        if "visitor_id" in wanted.columns:
            return self._dimensions.counted(rows, wanted.time, wanted.event)
        return rows


def _union_of(frames: Mapping[str, DataFrame]) -> DataFrame:
    """The union of frames, each as a struct column with its name; see `rows_of_kind`."""
    kinds = (rows.select(F.struct("*").alias(name)) for name, rows in frames.items())
    return in_few_partitions(
        reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), kinds)
    )
