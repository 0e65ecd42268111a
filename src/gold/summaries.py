"""Summaries: what publish keeps by window and by day, at a slower pace than what it keeps by person.

And whether conversions are final, which goes by the watermark alone.
"""

import time
from datetime import datetime

from pyspark.sql import functions as F

from gold.conversions import mark_final
from gold.daily import Daily
from gold.days import collect_days
from gold.rules.refunds import load_refunds
from gold.traffic import Traffic
from gold.view import view_all
from lakehouse.beside import side_by_side
from lakehouse.contracts.gold import CONVERSIONS, VISITOR_MINUTES
from lakehouse.frames import settle
from lakehouse.job import Run
from lakehouse.restating import restate

_SPARING = 5  # times as long as the last time took, from its beginning


class Summaries:
    """Keeps the tables that sum up over visitors in step with gold.visitor_minutes.

    Args:
        run: the job's run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._traffic = Traffic(run.lake, run.settings.business_time_zone)
        self._daily = Daily(run.lake, run.settings.business_time_zone)
        self._taken_at = 0.0  # on the monotonic clock
        self._took = 0.0  # seconds
        self.done = int(str(run.lake.last_commit(VISITOR_MINUTES.name).get("summarized", 0)))
        self._to_do: tuple[datetime, datetime] | None = None

    def expect(self, upto: datetime, watermark: datetime) -> None:
        """There is something new, as far as an ingest stamp, results being complete up to a watermark."""
        self._to_do = upto, watermark

    def take_in(self, now: bool = False, sparing: bool = False) -> None:
        """Bring in what is new, if anything is.

        Args:
            now: whether or not the last time is long enough ago.
            sparing: other work may be waiting; a fifth of the time at most is taken from it.
        """
        if self._to_do is None or not (now or self._is_time(sparing)):
            return
        upto, watermark = self._to_do
        self._taken_at = time.monotonic()
        known = int(str(self._run.lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0)))
        side_by_side([lambda: self._traffic.take_in(upto, watermark), lambda: self._finish(upto, watermark)])
        self._take_days(upto, watermark)
        self.done, self._to_do = known, None
        self._took = time.monotonic() - self._taken_at

    def _is_time(self, sparing: bool) -> bool:
        pause = self._run.settings.summary_interval.total_seconds()
        if sparing:
            pause = max(pause, _SPARING * self._took)
        return time.monotonic() - self._taken_at >= pause

    def _finish(self, upto: datetime, watermark: datetime) -> None:
        """Say of conversions that the watermark has passed them."""
        passed = ~F.col("is_final") & (F.col("converted_at") <= F.lit(watermark))
        before = settle(self._run.lake.read(CONVERSIONS.name).where(passed))
        restate(self._run.lake, CONVERSIONS.name, before, mark_final(before, watermark), upto)

    def _take_days(self, upto: datetime, watermark: datetime) -> None:
        minutes = self._run.lake.read(VISITOR_MINUTES.name)
        new = minutes.where(F.col("sequence") > self.done).select("minute")
        if days := collect_days(new, self._run.settings.business_time_zone):
            view = view_all(self._run.lake, watermark)
            orders = load_refunds(self._run.settings.conf).values()
            self._daily.take_in(days, view, orders, upto)
