"""When publish updates summaries: tables by window and by day, and items, less often than tables by person.

Conversions that the watermark has passed become final at the same time.
"""

import time
from collections.abc import Collection
from datetime import date, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.credit.dimensions import DimensionLoader
from gold.daily.business_days import business_day
from gold.daily.day_rules import DayRules
from gold.daily.person_summaries import PersonSummaries
from gold.daily.update import Daily
from gold.items.conversion_items import ConversionItems
from gold.traffic.windows import Traffic
from lakehouse.contracts.costs import CAMPAIGN_COSTS
from lakehouse.contracts.daily import CAMPAIGN_PERFORMANCE
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.table import DELETED
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.write_changes import OLD_TIME, write_changes
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.job import JobContext
from lakehouse.timestamps import EPOCH, to_micros

_UNDER_LOAD = 20  # under load, updates take at most a twentieth of publish's time
_LONGEST_PAUSE = 120.0  # seconds from the start of one to the next, since pages read what they write


class SummarySchedule:
    """Updates the tables that aggregate over visitors from gold.visitor_minutes.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._traffic = Traffic(run.lake, run.settings.business_time_zone, run.settings.conf)
        self._dimensions = DimensionLoader(run.lake)
        self._daily = Daily(run.lake, run.settings.business_time_zone)
        self._items = ConversionItems(run.lake)
        self._people = PersonSummaries(run)
        self._pause = run.settings.summary_interval.total_seconds()
        self._input: tuple[datetime, datetime, datetime] | None = None
        self._is_stale = False
        self._started_at = 0.0  # on the monotonic clock
        self._took = 0.0  # seconds
        self._costs_through = run.lake.high_water_mark(CAMPAIGN_PERFORMANCE.name) or EPOCH
        self.done = int(str(run.lake.last_commit(VISITOR_MINUTES.name).get("summarized", 0)))

    def mark_stale(self, upto: datetime, watermark: datetime, side_input_upto: datetime) -> None:
        """Note new input and side input up to ingest stamps, complete up to a watermark."""
        self._input, self._is_stale = (upto, watermark, side_input_upto), True

    def forget(self, erased: DataFrame, visitors: DataFrame) -> None:
        """Remove what is left of erased events from tables whose updates follow new rows alone.

        Args:
            erased: event_id and order_id.
            visitors: visitor_id of the visitors whose rows may change.
        """
        if self._input:
            upto, watermark, _ = self._input
            self._people.forget(erased, visitors, self._dimensions.load_all(watermark), upto)

    def update(self, now: bool = False, under_load: bool = False) -> None:
        """Update what is stale and due.

        Args:
            now: update it even if it is not due yet.
            under_load: whether other work may be waiting, so that updates get a small share of the time.
        """
        if self._input and (now or self._is_due(under_load)) and (self._is_stale or self._items.is_behind):
            self._started_at = time.monotonic()
            if self._is_stale:
                self._update(*self._input)
            else:
                upto, _, side_input_upto = self._input
                self._items.update(self.done, upto)
                self._people.update_joined(upto, side_input_upto)
            self._is_stale, self._took = False, time.monotonic() - self._started_at

    def _update(self, upto: datetime, watermark: datetime, side_input_upto: datetime) -> None:
        known = int(str(self._run.lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0)))
        self._sum_days(known, upto, watermark, side_input_upto)
        self._items.update(self.done, upto)
        self._people.update_joined(upto, side_input_upto)
        self._traffic.update(upto, watermark)  # last: the pages read all tables as of its position
        self.done, self._costs_through = known, upto

    def _is_due(self, under_load: bool) -> bool:
        under_load_pause = min(_UNDER_LOAD * self._took, _LONGEST_PAUSE)
        pause = max(self._pause, under_load_pause) if under_load else self._pause
        return time.monotonic() - self._started_at >= pause

    def _sum_days(self, known: int, upto: datetime, watermark: datetime, side_input_upto: datetime) -> None:
        rows, days = self._new_minutes() if known > self.done else (0, [])
        days += self._days_of_costs()
        self._run.tune_for_batch(rows)
        self._finalise(upto, watermark)
        if days or known > self.done or self._people.is_stale(side_input_upto):
            self._update_days(days, upto, watermark, side_input_upto)

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

    def _finalise(self, upto: datetime, watermark: datetime) -> None:
        """Mark conversions that the watermark has passed as final."""
        passed = TimePruner.of_spans([(to_micros(EPOCH), to_micros(watermark))])
        due = self._run.lake.read(CONVERSIONS.name).where(passed.contains("due_at"))
        write_changes(self._run.lake, CONVERSIONS, _final(due), upto)

    def _update_days(
        self, days: Collection[date], upto: datetime, watermark: datetime, side_input_upto: datetime
    ) -> None:
        dimensions = self._dimensions.load_all(watermark)
        if days:
            self._daily.update(days, dimensions, DayRules.load(self._run.settings.conf), upto)
        self._people.update_persons(self.done, dimensions, upto, side_input_upto)


def _final(rows: DataFrame) -> DataFrame:
    """Changes that make rows of gold.conversions final."""
    return rows.withColumns(
        {
            "is_final": F.lit(True),
            "due_at": F.lit(None).cast("timestamp"),
            DELETED: F.lit(False),
            OLD_TIME: F.col("converted_at"),
        }
    )
