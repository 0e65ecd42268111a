"""What a micro-batch's events say of their visitors: who they are, and which are no persons."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.batches import Batch
from lakehouse.contracts.silver import BOTS, EVENTS, IDENTITIES
from lakehouse.frames import settle
from lakehouse.instants import as_utc
from lakehouse.job import Run
from silver.bots import merge_bots, named_bots, quick_bots
from silver.identities import identify_visitors, merge_identities
from silver.rules.bots import SPAN, BotRules

_HOUR = timedelta(hours=1)
Interval = tuple[datetime, datetime]


class Visitors:
    """Keeps silver.identities and silver.bots in step with silver.events.

    Both tables merge, so it does not matter in which order events come, nor whether a batch is done twice.
    Rows that come to nothing new are not written.

    Args:
        run: the job's run.
        rules: what programs call themselves.
    """

    def __init__(self, run: Run, rules: BotRules) -> None:
        self._run = run
        self._rules = rules

    def __call__(self, batch: Batch) -> None:
        """Take in the events of one micro-batch, late ones included."""
        events = self._run.lake.read(EVENTS.name).where(batch.covers())
        fresh = settle(events.select("visitor_id", "user_id", "user_agent", "event_time", "event_id"))
        said = F.count("user_id").alias("said")
        found = fresh.agg(said, F.collect_set(F.date_trunc("hour", "event_time")).alias("hours")).collect()[0]
        if found.said:
            identities = self._known(IDENTITIES.name, fresh.where(F.col("user_id").isNotNull()))
            merged = merge_identities(identities, identify_visitors(fresh))
            self._keep(IDENTITIES.name, merged.subtract(identities), batch)
        if found.hours:
            bots = self._known(BOTS.name, fresh)
            suspects = named_bots(fresh, self._rules).unionByName(self._quick(fresh, found.hours))
            self._keep(BOTS.name, merge_bots(bots, suspects).subtract(bots), batch)

    def _quick(self, fresh: DataFrame, hours: Sequence[datetime]) -> DataFrame:
        near = self._run.lake.read(EVENTS.name).where(cover(hours)).select("visitor_id", "event_time")
        theirs = F.broadcast(fresh.select("visitor_id").distinct())
        return quick_bots(near.join(theirs, "visitor_id", "left_semi"))

    def _known(self, name: str, fresh: DataFrame) -> DataFrame:
        theirs = F.broadcast(fresh.select("visitor_id").distinct())
        rows = self._run.lake.read(name).drop("ingested_at")
        return rows.join(theirs, "visitor_id", "left_semi")

    def _keep(self, name: str, changed: DataFrame, batch: Batch) -> None:
        rows = settle(changed.withColumn("ingested_at", F.lit(batch.upto)))
        if not rows.isEmpty():
            self._run.lake.swap(name, None, rows, batch.upto, F.lit(True))


def cover(hours: Sequence[datetime]) -> Column:
    """A condition that all events meet which lie within the bot rule's span of these hours.

    Args:
        hours: starts of hours, one at least.
    """
    time = F.col("event_time")
    return reduce(or_, (time.between(F.lit(low), F.lit(high)) for low, high in intervals(hours)))


def intervals(hours: Sequence[datetime], most: int = 24) -> list[Interval]:
    """The hours, widened by the bot rule's span, in few intervals.

    Late events lie far from the others: apart from them, the files between need not be read. Where there
    would be too many intervals, the smallest gaps are read over.
    """
    spans = [(hour - SPAN, hour + _HOUR + SPAN) for hour in sorted(map(as_utc, hours))]
    gaps = sorted((after[0] - before[1] for before, after in pairwise(spans)), reverse=True)
    smallest = max([timedelta(0), *gaps[most - 1 : most]])
    joined = spans[:1]
    for low, high in spans[1:]:
        if low - joined[-1][1] > smallest:
            joined.append((low, high))
        else:
            joined[-1] = (joined[-1][0], high)
    return joined
