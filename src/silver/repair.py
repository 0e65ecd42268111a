"""The side door: what late events change in sessions that were written without them."""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.batches import Batch, Outcome
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH
from lakehouse.job import Run
from lakehouse.ledger import Ledger
from silver.rules.bots import BotRules
from silver.rules.sessions import GAP, GAP_MICROS
from silver.sessions import join_fragments, mark_open, to_fragments
from silver.visitors import Visitors


def touched_sessions(sessions: DataFrame, fragments: DataFrame) -> DataFrame:
    """The sessions that some fragment of the same visitor comes within the gap of."""
    late = fragments.select("visitor_id", F.col("started_at").alias("late_at"))
    near = (
        (F.col("s.visitor_id") == F.col("f.visitor_id"))
        & (F.unix_micros("f.late_at") < F.unix_micros("s.ended_at") + GAP_MICROS)
        & (F.unix_micros("f.late_at") > F.unix_micros("s.started_at") - GAP_MICROS)
    )
    return sessions.alias("s").join(F.broadcast(late).alias("f"), near, "left_semi")


class Repair:
    """Brings late events into the sessions they belong to, and keeps what is known of visitors.

    Args:
        run: the job's run.
        rules: what programs call themselves.
    """

    def __init__(self, run: Run, rules: BotRules) -> None:
        self._run = run
        self._visitors = Visitors(run, rules)
        self._filled = run.lake.filled_upto(SESSIONS.name) or EPOCH

    def __call__(self, batch: Batch) -> Outcome:
        """Repair what the late events of one micro-batch touch."""
        late = self._run.lake.read(EVENTS.name).where(batch.covers() & F.col("is_late"))
        late = late.where(F.col("ingested_at") > F.lit(self._filled))
        fragments = settle(to_fragments(late))
        span = fragments.agg(
            F.count("*").alias("rows"), F.min("started_at").alias("low"), F.max("ended_at").alias("high")
        ).collect()[0]
        if span.rows:
            self._repair(fragments, span.low, span.high, batch)
        self._visitors(batch)
        return Outcome(output_rows=span.rows, late=span.rows, watermark=batch.upstream_watermark)

    def _repair(self, fragments: DataFrame, low: datetime, high: datetime, batch: Batch) -> None:
        lake = self._run.lake
        before = settle(touched_sessions(lake.read(SESSIONS.name).where(_near(low, high)), fragments))
        joined = join_fragments(fragments.unionByName(before.select(*fragments.columns)))
        refined = Ledger(lake).last("refine")  # by now further, perhaps, than this batch
        after = mark_open(joined, (refined.watermark if refined else None) or EPOCH)
        lake.swap(SESSIONS.name, before, after, upto=batch.upto, scope=_near(low, high, "t."))


def _near(low: datetime, high: datetime, prefix: str = "") -> Column:
    """Sessions that lie within the gap of a span of time."""
    return (F.col(f"{prefix}started_at") <= F.lit(high + GAP)) & (
        F.col(f"{prefix}ended_at") >= F.lit(low - GAP)
    )
