"""What a micro-batch's events say of their visitors: who they are, and which are no persons."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.batches import Batch
from lakehouse.beside import side_by_side
from lakehouse.contracts.silver import BOTS, EVENTS, IDENTITIES
from lakehouse.frames import settle
from lakehouse.intervals import covered, intervals, slots_of
from lakehouse.job import Run
from lakehouse.rules import rules_version
from silver.bots import merge_bots, named_bots, quick_bots
from silver.identities import identify_visitors, merge_identities
from silver.rules.bots import SPAN, load_bot_rules

_SLOT = timedelta(minutes=1)


class Visitors:
    """Keeps silver.identities and silver.bots in step with silver.events.

    Both tables merge, so it does not matter in which order events come, nor whether a batch is done twice.
    Rows that come to nothing new are not written. The rules are read for each micro-batch.

    Args:
        run: the job's run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, batch: Batch) -> None:
        """Take in the events of one micro-batch, late ones included."""
        events = self._run.lake.read(EVENTS.name).where(batch.covers())
        fresh = settle(events.select("visitor_id", "user_id", "user_agent", "event_time", "event_id"))
        said = F.count("user_id").alias("said")
        found = fresh.agg(said, slots_of(F.col("event_time"), length=_SLOT).alias("slots")).collect()[0]
        tasks = [partial(self._identify, fresh, batch)] if found.said else []
        tasks += [partial(self._tell_bots, fresh, found.slots, batch)] if found.slots else []
        side_by_side(tasks)

    def _identify(self, fresh: DataFrame, batch: Batch) -> None:
        identities = self._known(IDENTITIES.name, fresh.where(F.col("user_id").isNotNull()))
        merged = merge_identities(identities, identify_visitors(fresh))
        self._keep(IDENTITIES.name, merged.subtract(identities), batch)

    def _tell_bots(self, fresh: DataFrame, slots: Sequence[datetime], batch: Batch) -> None:
        bots, rules = self._known(BOTS.name, fresh), load_bot_rules(self._run.settings.conf)
        suspects = named_bots(fresh, rules).unionByName(self._quick(fresh, slots))
        self._keep(BOTS.name, merge_bots(bots, suspects).subtract(bots), batch)

    def _quick(self, fresh: DataFrame, slots: Sequence[datetime]) -> DataFrame:
        within = covered("event_time", intervals(slots, SPAN, _SLOT))
        near = self._run.lake.read(EVENTS.name).where(within).select("visitor_id", "event_time")
        theirs = F.broadcast(fresh.select("visitor_id").distinct())
        return quick_bots(settle(near.join(theirs, "visitor_id", "left_semi")))

    def _known(self, name: str, fresh: DataFrame) -> DataFrame:
        theirs = F.broadcast(fresh.select("visitor_id").distinct())
        rows = self._run.lake.read(name).drop("ingested_at", "rules_version")
        return rows.join(theirs, "visitor_id", "left_semi")

    def _keep(self, name: str, changed: DataFrame, batch: Batch) -> None:
        version = rules_version(self._run.settings.conf)
        stamps = {"ingested_at": F.lit(batch.upto), "rules_version": F.lit(version)}
        rows = settle(changed.withColumns(stamps))
        if not rows.isEmpty():
            self._run.lake.swap(name, None, rows, batch.upto, F.lit(True))
