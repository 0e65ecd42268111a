"""The publish job's micro-batch: what it changes in gold, and nothing else."""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.attribution import credit_touches
from gold.converted import Converted, convert_again
from gold.minutes import (
    add_up,
    mark_quarters,
    minutes_of_conversions,
    minutes_of_events,
    only_conversions,
    take_back,
)
from gold.near import Near, look_near
from gold.spans import MINUTE, Stretch, inside, minute_of
from gold.summaries import Summaries
from gold.touched import Touched, touch_again
from gold.trails import follow_trails
from gold.view import View, take_view
from lakehouse.batches import Batch, Outcome
from lakehouse.beside import side_by_side
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS, VISITOR_MINUTES
from lakehouse.contracts.silver import EVENTS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH, to_micros
from lakehouse.job import Run
from lakehouse.ledger import Ledger
from lakehouse.restating import restate


class Publish:
    """Brings gold up to date with silver.

    Everything is computed anew for the spans and conversions that a micro-batch touches, and what has
    changed is swapped in. What is due follows from the batch and from gold.touches, which is written last:
    so a batch that is done again, in whole or in part, comes to the same tables. Bots are left out, and
    what they had goes when they are found. What is summed up by window and by day follows at its own pace.

    Args:
        run: the job's run.
        refunds: gives the goal of a refund -> goal of the order it takes back; asked for each micro-batch.
    """

    def __init__(self, run: Run, refunds: Callable[[], Mapping[str, str]]) -> None:
        self._run = run
        self._refunds = refunds
        self._summaries = Summaries(run)
        if last := Ledger(run.lake).last(run.job):
            self._summaries.expect(last.position, last.watermark or EPOCH)

    def __call__(self, batch: Batch) -> Outcome:
        """Publish what the events, bots and rates of one micro-batch touch, late ones included."""
        lake = self._run.lake
        view, refunds = take_view(lake, batch), self._refunds()
        near = look_near(lake, self._moments(view, batch), view)
        touched = touch_again(lake, near, view)
        currency = self._run.settings.reporting_currency
        converted = convert_again(self._read(CONVERSIONS.name), near, touched, view, refunds, currency)
        when = Stretch(converted.times, "converted_at")
        done = side_by_side(
            [
                lambda: self._credit(
                    ATTRIBUTION.name, credit_touches(converted.journeys), when, converted, batch
                ),
                lambda: self._count(near, touched, converted, view, batch),
                lambda: self._credit(TRAILS.name, follow_trails(converted.journeys), when, converted, batch),
            ]
        )
        rows = sum(changed or 0 for changed in done)
        heard = to_micros(batch.heard_upto)
        rows += restate(lake, CONVERSIONS.name, converted.before, converted.now, batch.upto, heard=heard)
        rows += restate(lake, TOUCHES.name, touched.before, touched.now, batch.upto, heard=heard)
        self._summaries.expect(batch.upto, view.watermark)
        if not self._run.once:  # else when all else is done
            self._summaries.take_in(sparing=True)
        return Outcome(output_rows=rows, watermark=batch.upstream_watermark)

    def rest(self) -> None:
        """Bring the summaries up to date; called when nothing else is to be done."""
        self._summaries.take_in(now=self._run.once)

    def _moments(self, view: View, batch: Batch) -> DataFrame:
        """When something new happened to whom, and when else bots' orders were told of."""
        events = self._read(EVENTS.name)
        at = ("visitor_id", F.col("event_time").alias("at"))
        news = batch.covers() | (F.col("is_late") & batch.hears())
        fresh = events.where(news).select(*at)
        if "new_bots" in view.news:
            published = self._read(CONVERSIONS.name).where(F.col("order_id").isNotNull())
            orders = published.join(F.broadcast(view.new_bots), "visitor_id", "left_semi").select("order_id")
            goals = events.where(F.col("goal").isNotNull())
            shared = goals.join(F.broadcast(orders.distinct()), "order_id", "left_semi")
            fresh = fresh.unionByName(shared.select(*at))
        return settle(view.people(fresh).distinct())

    def _credit(self, table: str, after: DataFrame, when: Stretch, converted: Converted, batch: Batch) -> int:
        """Restate attribution or trails."""
        inside_them = self._read(table).where(when.holds("converted_at"))
        before = inside_them.join(F.broadcast(converted.ids), "conversion_id", "left_semi")
        heard = to_micros(batch.heard_upto)
        return restate(self._run.lake, table, before, after, batch.upto, heard=heard)

    def _count(self, near: Near, touched: Touched, converted: Converted, view: View, batch: Batch) -> None:
        """Add to the visitors' minutes what has changed in them."""
        lake = self._run.lake
        table = self._read(VISITOR_MINUTES.name)
        stood = inside(table.where(near.stretch.holds("minute")), "minute", near.spans)
        if "new_bots" in view.news:
            stood = stood.unionByName(table.join(F.broadcast(view.new_bots), "visitor_id", "left_semi"))
        changed = add_up(
            minutes_of_events(near.events, near.sessions, touched.now),
            minutes_of_conversions(converted.now),
            take_back(stood),
            *self._elsewhere(table, near, converted, view),
        )
        marks = mark_quarters(near.events.select("event_time"), converted.times.select("converted_at"))
        sequence = int(str(lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0))) + 1
        rows = settle(changed.unionByName(marks).withColumn("sequence", F.lit(sequence).cast("bigint")))
        if not rows.isEmpty():
            told = {"sequence": sequence, "summarized": self._summaries.done}
            told["heard"] = to_micros(batch.heard_upto)
            lake.append(VISITOR_MINUTES.name, rows, batch.upto, **told)

    def _elsewhere(self, table: DataFrame, near: Near, converted: Converted, view: View) -> list[DataFrame]:
        """Minutes of conversions outside the spans, of which nothing but conversions may be others.

        What they have now besides those of this batch, and what stood, taken back.
        """
        moments = converted.times.select("visitor_id", minute_of("converted_at").alias("low")).distinct()
        spots = inside(view.people(moments), "low", near.spans, "left_anti")
        spots = settle(spots.withColumn("high", F.col("low") + F.lit(MINUTE)))
        if spots.isEmpty():
            return []
        where = Stretch(spots, "low")
        published = self._read(CONVERSIONS.name).where(where.holds("converted_at"))
        undue = inside(published, "converted_at", spots)
        undue = undue.join(F.broadcast(converted.ids), "conversion_id", "left_anti")
        stood = inside(table.where(where.holds("minute")), "minute", spots)
        return [minutes_of_conversions(undue), take_back(only_conversions(stood))]

    def _read(self, name: str) -> DataFrame:
        return self._run.lake.read(name)
