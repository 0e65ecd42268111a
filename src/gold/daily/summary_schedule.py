"""Summaries: what publish keeps by window and by day, at a slower pace than what it keeps by person.

And whether conversions are final, which goes by the watermark alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame

from folds.persons.refunds import load_order_rules
from gold.credit.dimensions import DimensionLoader
from gold.credit.minute_input import quarter_of
from gold.daily.business_days import day_of
from gold.daily.update import Daily
from gold.traffic.windows import Traffic
from lakehouse.contracts.gold import CONVERSIONS, VISITOR_MINUTES
from lakehouse.contracts.table import GONE
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import OLD_TIME, write_changes
from lakehouse.rows.driver_or_spark import Source, on_driver
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.job import Run
from lakehouse.run.query_tuning import MANY
from lakehouse.timestamps import EPOCH, to_micros

_WINDOWS, _DAYS = 20, 40  # one part in so many of publish's time, while batches follow each other


class Summaries:
    """Keeps the tables that sum up over visitors in step with gold.visitor_minutes.

    Args:
        run: the job's run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._traffic = Traffic(run.lake, run.settings.business_time_zone, run.settings.conf)
        self._dimensions = DimensionLoader(run.lake, run.settings.reporting_currency)
        self._daily = Daily(run.lake, run.settings.business_time_zone)
        pause = run.settings.summary_interval.total_seconds()
        self._parts = (_Part(self._traffic.update, pause, _WINDOWS), _Part(self._sum_days, pause, _DAYS))
        self.done = int(str(run.lake.last_commit(VISITOR_MINUTES.name).get("summarized", 0)))

    def expect(self, upto: datetime, watermark: datetime) -> None:
        """There is something new, as far as an ingest stamp, results being complete up to a watermark."""
        for part in self._parts:
            part.to_do = upto, watermark

    def take_in(self, now: bool = False, sparing: bool = False) -> None:
        """Bring in what is new, if anything is.

        Args:
            now: whether or not the last time is long enough ago.
            sparing: other work may be waiting, so that little of the time is taken from it.
        """
        for part in self._parts:
            if part.to_do and (now or part.is_time(sparing)):
                self._run.prepare_to_sum_up()
                part.take_in(*part.to_do)

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
        source = Source.of(self._run.lake, VISITOR_MINUTES.name, wanted, MANY)
        minutes = source.look_up(VISITOR_MINUTES.name, wanted)
        distinct = minutes.distinct() if isinstance(minutes, DataFrame) else minutes
        zone = self._run.settings.business_time_zone
        quarters = {quarter_of(minute) for minute in on_driver(distinct)["minute"].to_pylist()}
        if days := {day_of(quarter, zone) for quarter in quarters}:
            dimensions = self._dimensions.load_all(watermark)
            orders = load_order_rules(self._run.settings.conf).orders
            self._daily.update(days, dimensions, orders, upto)


@dataclass
class _Part:
    """What is brought up to date together.

    Args:
        work: does it, as far as an ingest stamp and a watermark.
        pause: seconds between two times, at least.
        sparing: while other work may be waiting, at least so many times as long as the last time took.
    """

    work: Callable[[datetime, datetime], None]
    pause: float
    sparing: int
    to_do: tuple[datetime, datetime] | None = None
    begun_at: float = 0.0  # on the monotonic clock
    took: float = 0.0  # seconds

    def is_time(self, sparing: bool) -> bool:
        pause = max(self.pause, self.sparing * self.took) if sparing else self.pause
        return time.monotonic() - self.begun_at >= pause

    def take_in(self, upto: datetime, watermark: datetime) -> None:
        self.begun_at = time.monotonic()
        self.work(upto, watermark)
        self.to_do, self.took = None, time.monotonic() - self.begun_at


def _final(rows: pa.Table) -> pa.Table:
    """Rows of gold.conversions as changes that make them final."""
    due = rows["due_at"]
    final = rows.drop_columns(["is_final", "due_at"])
    final = final.append_column("is_final", pa.repeat(pa.scalar(True), rows.num_rows))
    final = final.append_column("due_at", pa.nulls(rows.num_rows, due.type))
    final = final.append_column(GONE, pa.repeat(pa.scalar(False), rows.num_rows))
    return final.append_column(OLD_TIME, rows["converted_at"])
