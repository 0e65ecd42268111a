"""When publish updates summaries: tables by window and by day, less often than tables by person.

Conversions that the watermark has passed become final at the same time.
"""

import time
from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame

from folds.persons.refunds import load_order_rules
from gold.credit.dimensions import DimensionLoader
from gold.credit.minute_input import quarter_of
from gold.daily.business_days import day_of
from gold.daily.update import Daily
from gold.traffic.windows import Traffic
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.table import DELETED
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import OLD_TIME, write_changes
from lakehouse.rows.driver_or_spark import Source, on_driver
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.job import JobContext
from lakehouse.run.query_tuning import SMALL_BATCH_ROWS
from lakehouse.timestamps import EPOCH, to_micros

_UNDER_LOAD = 20  # under load, updates take at most a twentieth of publish's time


class SummarySchedule:
    """Updates the tables that aggregate over visitors from gold.visitor_minutes.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._traffic = Traffic(run.lake, run.settings.business_time_zone, run.settings.conf)
        self._dimensions = DimensionLoader(run.lake, run.settings.reporting_currency)
        self._daily = Daily(run.lake, run.settings.business_time_zone)
        self._pause = run.settings.summary_interval.total_seconds()
        self._stale: tuple[datetime, datetime] | None = None
        self._started_at = 0.0  # on the monotonic clock
        self._took = 0.0  # seconds
        self.done = int(str(run.lake.last_commit(VISITOR_MINUTES.name).get("summarized", 0)))

    def mark_stale(self, upto: datetime, watermark: datetime) -> None:
        """Note new input up to an ingest stamp, complete up to a watermark."""
        self._stale = upto, watermark

    def update(self, now: bool = False, under_load: bool = False) -> None:
        """Update what is stale and due.

        Args:
            now: update it even if it is not due yet.
            under_load: whether other work may be waiting, so that updates get a small share of the time.
        """
        if self._stale and (now or self._is_due(under_load)):
            self._started_at = time.monotonic()
            self._run.tune_for_scan()
            self._sum_days(*self._stale)
            self._traffic.update(*self._stale)  # last: the pages read all tables as of its position
            self._stale, self._took = None, time.monotonic() - self._started_at

    def _is_due(self, under_load: bool) -> bool:
        pause = max(self._pause, _UNDER_LOAD * self._took) if under_load else self._pause
        return time.monotonic() - self._started_at >= pause

    def _sum_days(self, upto: datetime, watermark: datetime) -> None:
        known = int(str(self._run.lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0)))
        self._finalise(upto, watermark)
        self._update_days(upto, watermark)
        self.done = known

    def _finalise(self, upto: datetime, watermark: datetime) -> None:
        """Mark conversions that the watermark has passed as final."""
        passed = TimePruner.of_spans([(to_micros(EPOCH), to_micros(watermark))])
        wanted = Lookup(CONVERSIONS.column_names, passed, "due_at")
        rows = self._run.lake.find(CONVERSIONS.name, wanted)
        write_changes(self._run.lake, CONVERSIONS.name, _final(rows), upto)

    def _update_days(self, upto: datetime, watermark: datetime) -> None:
        wanted = Lookup(("minute",), above=("sequence", self.done))
        source = Source.of(self._run.lake, VISITOR_MINUTES.name, wanted, SMALL_BATCH_ROWS)
        minutes = source.look_up(VISITOR_MINUTES.name, wanted)
        distinct = minutes.distinct() if isinstance(minutes, DataFrame) else minutes
        zone = self._run.settings.business_time_zone
        quarters = {quarter_of(minute) for minute in on_driver(distinct)["minute"].to_pylist()}
        if days := {day_of(quarter, zone) for quarter in quarters}:
            dimensions = self._dimensions.load_all(watermark)
            orders = load_order_rules(self._run.settings.conf).orders
            self._daily.update(days, dimensions, orders, upto)


def _final(rows: pa.Table) -> pa.Table:
    """Changes that make rows of gold.conversions final."""
    due = rows["due_at"]
    final = rows.drop_columns(["is_final", "due_at"])
    final = final.append_column("is_final", pa.repeat(pa.scalar(True), rows.num_rows))
    final = final.append_column("due_at", pa.nulls(rows.num_rows, due.type))
    final = final.append_column(DELETED, pa.repeat(pa.scalar(False), rows.num_rows))
    return final.append_column(OLD_TIME, rows["converted_at"])
