"""Summaries: tables that aggregate over gold or join it: by window, day and person, items, timelines."""

from collections.abc import Collection
from datetime import date, datetime
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.changed_versions import dimensions_through
from gold.credit.dimensions import DimensionLoader
from gold.daily.business_days import business_day
from gold.daily.customer_days import CustomerDays
from gold.daily.day_rules import DayRules
from gold.daily.person_summaries import PersonSummaries
from gold.daily.update import Daily
from gold.items.conversion_items import ConversionItems
from gold.traffic.traffic_progress import last_sequence
from gold.traffic.windows import Traffic
from lakehouse.contracts.costs import CAMPAIGN_COSTS
from lakehouse.contracts.daily import CAMPAIGN_PERFORMANCE, DIMENSION_PERFORMANCE
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.run.job import JobContext
from lakehouse.timestamps import EPOCH, to_micros


class Published(NamedTuple):
    """The state of gold that summaries are made from.

    Args:
        upto: high-water mark of gold, an ingest stamp.
        watermark: the watermark that gold is complete up to.
        side_input_upto: high-water mark of the side input.
    """

    upto: datetime
    watermark: datetime
    side_input_upto: datetime


class Summaries:
    """Updates summaries from the rows of gold that have changed.

    Args:
        run: the context of publish; its tables are as of the state that summaries are made from.

    Attributes:
        done: sequence of gold.visitor_minutes through which summaries are up to date.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._traffic = Traffic(run.lake, run.settings.business_time_zone, run.settings.conf)
        self._dimensions = DimensionLoader(run.lake)
        self._daily = Daily(run.lake, run.settings.business_time_zone)
        self._items = ConversionItems(run.lake)
        self._customers = CustomerDays(run.lake, run.settings.business_time_zone)
        self._people = PersonSummaries(run)
        self._rows = 0  # new minutes of the last update
        self._costs_through = run.lake.high_water_mark(CAMPAIGN_PERFORMANCE.name) or EPOCH
        self.done = int(str(run.lake.last_commit(TRAFFIC.name).get("summarized", 0)))

    @property
    def is_behind_shop(self) -> bool:
        """Whether the shop's database has changes that are not applied yet."""
        return self._items.is_behind

    def update(self, now: Published) -> None:
        """Apply what has been published; windows last, since pages read all tables as of their position."""
        known = last_sequence(self._run.lake)
        self._sum_days(known, now)
        self._update_joined(now)
        self._traffic.update(now.upto, now.watermark, known)
        self._traffic.advance(now.upto)
        self.done, self._costs_through = known, now.upto

    def update_joined(self, now: Published) -> None:
        """Apply changes of the shop's database, too, to the tables that join it."""
        self._update_joined(now)
        self._traffic.advance(now.upto)

    def _update_joined(self, now: Published) -> None:
        self._items.update(self.done, now.upto)
        self._update_customers(now)
        self._people.update_joined(now.upto, now.side_input_upto)

    def forget(self, erased: DataFrame, visitors: DataFrame, now: Published) -> None:
        """Remove what is left of erased events from tables whose updates follow new rows alone.

        Args:
            erased: event_id and order_id.
            visitors: visitor_id of the visitors whose rows may change.
            now: the state of gold.
        """
        self._people.forget(erased, visitors, self._dimensions.load_all(now.watermark), now.upto)

    def _sum_days(self, known: int, now: Published) -> None:
        self._rows, days = self._new_minutes() if known > self.done else (0, [])
        days += self._days_of_costs()
        self._tune_for(0)
        if days or known > self.done or self._people.is_stale(now.side_input_upto):
            self._update_days(days, now)

    def _new_minutes(self) -> tuple[int, list[date]]:
        """Number and days of the new minutes: one row on the driver, with a value per day of event time."""
        rows = self._run.lake.read(VISITOR_MINUTES.name).where(F.col("sequence") > self.done)
        day = business_day("minute", self._run.settings.business_time_zone)
        count, days = rows.agg(F.count("*"), F.collect_set(day)).collect()[0]
        return count, days

    def _days_of_costs(self) -> list[date]:
        """Days with costs that changed: one row on the driver."""
        if not self._run.lake.has_commit_after(CAMPAIGN_COSTS.name, self._costs_through):
            return []
        rows = self._run.lake.read(CAMPAIGN_COSTS.name)
        new = rows.where(F.col("ingested_at") > F.lit(self._costs_through))
        days: list[date] = new.agg(F.collect_set("day")).collect()[0][0]
        return days

    def _update_days(self, days: Collection[date], now: Published) -> None:
        dimensions = self._dimensions.load_all(now.watermark)
        if days:
            rules = DayRules.load(self._run.settings.conf)
            shop = to_micros(self._customers.through) if rules.of_customers else 0
            events = self._tune_for(self._daily.count_events(days))
            self._daily.update(days, dimensions, rules, now.upto, events, shop=shop)
            self._tune_for(0)
        self._people.update_persons(self.done, dimensions, now.upto, now.side_input_upto)

    def _tune_for(self, events: int) -> int:
        """Tune the session for the new minutes and a number of events that are read; return it.

        Persons, items and orders to update are as many as new minutes, of any number of micro-batches.
        """
        self._run.tune_for_batch(self._rows, events, keys=self._rows)
        return events

    def _update_customers(self, now: Published) -> None:
        """Apply changes of the shop's customers, if custom dimensions have columns of theirs."""
        rules = DayRules.load(self._run.settings.conf)
        if not rules.of_customers:
            return
        through = dimensions_through(self._run.lake)
        if days := self._customers.affected(through):
            dimensions, names = self._dimensions.load_all(now.watermark), (DIMENSION_PERFORMANCE.name,)
            events, shop = self._tune_for(self._daily.count_events(days, names)), to_micros(through)
            self._daily.update(days, dimensions, rules, now.upto, events, names, shop=shop)
            self._tune_for(0)
        self._customers.through = through
