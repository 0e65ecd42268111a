"""Summaries: what publish keeps by window and by day, at a slower pace than what it keeps by person.

And whether conversions are final, which goes by the watermark alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import functions as F

from folds.persons.refunds import load_refunds
from gold.credit.dimensions import DimensionLoader
from gold.daily import Daily
from gold.days import collect_days
from gold.traffic import Traffic
from lakehouse.beside import side_by_side
from lakehouse.contracts.gold import CONVERSIONS, VISITOR_MINUTES
from lakehouse.frames import settle
from lakehouse.job import Run
from lakehouse.restating import restate

_WINDOWS, _DAYS = 20, 40  # one part in so many of publish's time, while batches follow each other


class Summaries:
    """Keeps the tables that sum up over visitors in step with gold.visitor_minutes.

    Args:
        run: the job's run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._traffic = Traffic(run.lake, run.settings.business_time_zone)
        self._dimensions = DimensionLoader(run.lake, run.settings.reporting_currency)
        self._daily = Daily(run.lake, run.settings.business_time_zone)
        pause = run.settings.summary_interval.total_seconds()
        self._parts = (_Part(self._traffic.take_in, pause, _WINDOWS), _Part(self._sum_days, pause, _DAYS))
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
        side_by_side([lambda: self._finish(upto, watermark), lambda: self._take_days(upto, watermark)])
        self.done = known

    def _finish(self, upto: datetime, watermark: datetime) -> None:
        """Say of conversions that the watermark has passed them."""
        passed = ~F.col("is_final") & (F.col("converted_at") <= F.lit(watermark))
        before = settle(self._run.lake.read(CONVERSIONS.name).where(passed))
        restate(self._run.lake, CONVERSIONS.name, before, before.withColumn("is_final", F.lit(True)), upto)

    def _take_days(self, upto: datetime, watermark: datetime) -> None:
        minutes = self._run.lake.read(VISITOR_MINUTES.name)
        new = minutes.where(F.col("sequence") > self.done).select("minute")
        if days := collect_days(new, self._run.settings.business_time_zone):
            dimensions = self._dimensions.load_all(watermark)
            orders = load_refunds(self._run.settings.conf).values()
            self._daily.take_in(days, dimensions, orders, upto)


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
