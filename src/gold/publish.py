"""The publish job's micro-batch: what it changes in gold, and nothing else."""

from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.affected import affected_conversions, affected_persons, affected_windows
from gold.attribution import credit_touches
from gold.conversions import anchor_refunds, find_conversions, mark_final, reached_at
from gold.persons import name_persons
from gold.rates import report_values
from gold.rules.models import LOOK_BACK
from gold.touches import find_touches, trace_journeys
from gold.traffic import measure_traffic, revise_windows
from gold.view import View, take_view
from lakehouse.batches import Batch, Outcome
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TRAFFIC
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH
from lakehouse.job import Run

_FRESH = ("visitor_id", "goal", "order_id", "event_id", "event_time")
Span = tuple[datetime, datetime]


class Publish:
    """Brings gold up to date with silver.

    Everything is recomputed for the conversions and windows that a micro-batch touches, and swapped in:
    doing it again comes to the same tables. Bots are left out, and what they had goes when they are found.

    Args:
        run: the job's run.
        refunds: goal of a refund -> goal of the order it takes back.
    """

    def __init__(self, run: Run, refunds: dict[str, str]) -> None:
        self._run = run
        self._refunds = refunds

    def __call__(self, batch: Batch) -> Outcome:
        """Publish what the events, bots and rates of one micro-batch touch, late ones included."""
        view = take_view(self._run.lake, batch)
        fresh = settle(view.people(self._read(EVENTS.name).where(batch.covers()).select(*_FRESH)))
        moved, conversions = self._publish_conversions(fresh, view, batch)
        windows = self._publish_traffic(fresh, moved, view, batch)
        return Outcome(output_rows=conversions + windows, watermark=batch.upstream_watermark)

    def _publish_conversions(self, fresh: DataFrame, view: View, batch: Batch) -> tuple[DataFrame, int]:
        """Swap conversions and attribution; return when they were or may have been, and rows written."""
        published = self._read(CONVERSIONS.name)
        ids, due = self._due_conversions(fresh, published, view)
        journeys = settle(trace_journeys(due, self._touches_of(due, view)))
        counted = journeys.groupBy("conversion_id").agg(F.first("touches").alias("touches"))
        rows = settle(mark_final(due.join(counted, "conversion_id"), _watermark(batch)))
        before = settle(published.join(ids, "conversion_id", "left_semi"))
        moved = settle(reached_at(self._read(EVENTS.name), ids))
        span = _span(moved)
        if span is None:
            return moved, 0
        scope = F.col("t.converted_at").between(*span)
        inside = self._read(ATTRIBUTION.name).where(F.col("converted_at").between(*span))
        gone = inside.join(ids, "conversion_id", "left_semi")
        # attribution first: a crash in between leaves the batch to be done again from what it read
        credited = settle(credit_touches(journeys))
        self._run.lake.swap(ATTRIBUTION.name, settle(gone), credited, batch.upto, scope)
        self._run.lake.swap(CONVERSIONS.name, before, rows, batch.upto, scope)
        return moved, rows.count()

    def _due_conversions(
        self, fresh: DataFrame, published: DataFrame, view: View
    ) -> tuple[DataFrame, DataFrame]:
        """The ids of what may change, and what there is of it now."""
        every = find_conversions(view.people(self._read(EVENTS.name)), view.identities)
        anchored = settle(anchor_refunds(every, self._refunds))
        persons = affected_persons(fresh, view)
        ids = F.broadcast(settle(affected_conversions(anchored, published, fresh, persons, view)))
        due = anchored.join(ids, "conversion_id", "left_semi")
        return ids, settle(report_values(due, view.rates, self._run.settings.reporting_currency))

    def _touches_of(self, conversions: DataFrame, view: View) -> DataFrame:
        """The touches of everyone concerned, as far back as any of the conversions looks."""
        persons = conversions.select(F.col("anchor_person").alias("person_id")).distinct()
        span = _span(conversions.select("anchor_at")) or (EPOCH, EPOCH)
        low, high = span[0] - LOOK_BACK, span[1]
        # a day more of clicks than is looked back: whether one counts hangs on those just before it
        clicks = self._read(EVENTS.name).where(
            (F.col("role") == "click") & F.col("event_time").between(low - timedelta(days=1), high)
        )
        sessions = self._read(SESSIONS.name).where(F.col("started_at").between(low, high))
        theirs = (
            name_persons(view.people(rows), view.identities).join(
                F.broadcast(persons), "person_id", "left_semi"
            )
            for rows in (clicks, sessions)
        )
        return name_persons(find_touches(*theirs), view.identities)

    def _publish_traffic(self, fresh: DataFrame, moved: DataFrame, view: View, batch: Batch) -> int:
        events, sessions = self._read(EVENTS.name), self._read(SESSIONS.name)
        published = self._read(TRAFFIC.name)
        windows = settle(affected_windows(fresh, events, sessions, moved, published, view.new_bots))
        span = _span(windows)
        if span is None:
            return 0
        low, high = span[0], span[1] + timedelta(minutes=1)
        events, sessions = view.people(events), view.people(sessions)
        inside = sessions.where((F.col("started_at") < high) & (F.col("ended_at") >= low))
        first_start = _span(inside.select("started_at"))
        since = first_start[0] if first_start else low
        current = events.where((F.col("event_time") >= low) & (F.col("event_time") < high))
        clicks = events.where(
            (F.col("role") == "click") & (F.col("event_time") >= since) & (F.col("event_time") < high)
        )
        measured = measure_traffic(current, clicks, inside, self._read(CONVERSIONS.name), windows)
        before = settle(published.join(F.broadcast(windows), "window_start", "left_semi"))
        rows = settle(revise_windows(measured, before, _watermark(batch)))
        self._run.lake.swap(TRAFFIC.name, before, rows, batch.upto, F.col("t.window_start").between(*span))
        return rows.count()

    def _read(self, name: str) -> DataFrame:
        return self._run.lake.read(name)


def _watermark(batch: Batch) -> datetime:
    return batch.upstream_watermark or EPOCH


def _span(times: DataFrame) -> Span | None:
    """The first and last of a column of times; None if there is none."""
    column = times.columns[0]
    found = times.agg(F.min(column).alias("low"), F.max(column).alias("high")).collect()[0]
    return (found.low, found.high) if found.low is not None else None
