"""What each gold table is as a whole: the functions of the publish job, over all of silver."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.attribution import credit_touches
from gold.conversions import anchor_refunds, keep_first, mark_final, read_goals
from gold.daily import Daily
from gold.days import Days
from gold.journeys import count_touches, trace_journeys
from gold.minutes import add_up, minutes_of_conversions, minutes_of_events, take_back
from gold.passed import pass_rest, show_passed
from gold.persons import name_persons
from gold.rates import report_values
from gold.rules.refunds import load_refunds
from gold.touches import find_touches
from gold.traffic import Traffic
from gold.trails import follow_trails
from gold.view import View, view_all
from gold.windows import change_windows
from lakehouse.contracts.gold import (
    ATTRIBUTION,
    CAMPAIGN_PERFORMANCE,
    CONVERSIONS,
    FUNNEL,
    LOCK,
    SEARCH_PERFORMANCE,
    TOUCHES,
    TRAFFIC,
    TRAILS,
    VISITOR_MINUTES,
)
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH
from lakehouse.job import Run
from lakehouse.ledger import Ledger
from lakehouse.rebuilding import Definition
from lakehouse.tables import Lakehouse


class History:
    """All of gold's past, computed from silver as far as it has passed the gate.

    That may be further than publish has come. Publish comes to the same rows when it gets there.

    Args:
        run: the rebuild's run.
    """

    def __init__(self, run: Run) -> None:
        self._settings = run.settings
        self._lake = Lakehouse(run.spark, run.settings, "publish")
        show_passed(self._lake, pass_rest(run))
        last = Ledger(run.lake).last("publish")
        self._upto: datetime = last.position if last else EPOCH
        self._view: View = view_all(self._lake, (last.watermark if last else None) or EPOCH)
        self._refunds = load_refunds(run.settings.conf)

    def touches(self) -> DataFrame:
        """gold.touches."""
        return find_touches(self._people(EVENTS.name), self._people(SESSIONS.name))

    def conversions(self) -> DataFrame:
        """gold.conversions."""
        journeys = self._journeys()
        counted = count_touches(journeys)
        return mark_final(self._anchored().join(counted, "conversion_id"), self._view.watermark)

    def attribution(self) -> DataFrame:
        """gold.attribution."""
        return credit_touches(self._journeys())

    def trails(self) -> DataFrame:
        """gold.trails."""
        return follow_trails(self._journeys())

    def minutes(self) -> DataFrame:
        """What is to be added to gold.visitor_minutes for it to be what silver says."""
        events, sessions = self._people(EVENTS.name), self._people(SESSIONS.name)
        of_events = minutes_of_events(events, sessions, find_touches(events, sessions))
        standing = take_back(self._lake.read(VISITOR_MINUTES.name))
        return add_up(of_events, minutes_of_conversions(self._anchored()), standing)

    def put_minutes(self, rows: DataFrame) -> None:
        """Add them, and fold them into traffic."""
        sequence = int(str(self._lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0))) + 1
        stamped = settle(rows.withColumn("sequence", F.lit(sequence).cast("bigint")))
        if not stamped.isEmpty():
            self._lake.append(VISITOR_MINUTES.name, stamped, self._upto, sequence=sequence)
        self._traffic().take_in(self._upto, self._view.watermark)

    def windows(self) -> DataFrame:
        """The windows of gold.traffic, of the minutes that there are."""
        minutes = self._lake.read(VISITOR_MINUTES.name).withColumn("is_new", F.lit(True))
        return change_windows(minutes, self._settings.business_time_zone)

    def put_windows(self, windows: DataFrame) -> None:
        """Swap them in, by changes that lead from what was to what is."""
        self._traffic().make_anew(windows, self._upto, self._view.watermark)

    def daily(self, table: str) -> DataFrame:
        """A table that goes by day."""
        zone = self._settings.business_time_zone
        return Daily(self._lake, zone).measure(Days(None, zone), self._view, self._refunds.values())[table]

    def _people(self, table: str) -> DataFrame:
        return self._view.people(self._lake.read(table))

    def _anchored(self) -> DataFrame:
        goals = read_goals(self._people(EVENTS.name), self._people(SESSIONS.name))
        first = keep_first(goals.withColumn("_published", F.lit(False)))
        named = name_persons(settle(first), self._view.identities)
        valued = report_values(named, self._view.rates, self._settings.reporting_currency)
        return settle(anchor_refunds(valued, self._refunds))

    def _journeys(self) -> DataFrame:
        touches = name_persons(settle(self.touches()), self._view.identities)
        return settle(trace_journeys(self._anchored(), touches))

    def _traffic(self) -> Traffic:
        return Traffic(self._lake, self._settings.business_time_zone)


def _computed(part: Callable[[History], DataFrame]) -> Callable[[Run], DataFrame]:
    return lambda run: part(History(run))


def _daily(table: str) -> Definition:
    return Definition(_computed(partial(History.daily, table=table)), LOCK)


DEFINITIONS = {
    TOUCHES.name: Definition(
        _computed(History.touches),
        LOCK,
        (CONVERSIONS.name, ATTRIBUTION.name, TRAILS.name, CAMPAIGN_PERFORMANCE.name, FUNNEL.name),
    ),
    ATTRIBUTION.name: Definition(_computed(History.attribution), LOCK, (CAMPAIGN_PERFORMANCE.name,)),
    TRAILS.name: Definition(_computed(History.trails), LOCK),
    CONVERSIONS.name: Definition(_computed(History.conversions), LOCK, (VISITOR_MINUTES.name, FUNNEL.name)),
    VISITOR_MINUTES.name: Definition(
        _computed(History.minutes), LOCK, put=lambda run, rows: History(run).put_minutes(rows)
    ),
    TRAFFIC.name: Definition(
        _computed(History.windows), LOCK, put=lambda run, rows: History(run).put_windows(rows)
    ),
    **{name: _daily(name) for name in (CAMPAIGN_PERFORMANCE.name, SEARCH_PERFORMANCE.name, FUNNEL.name)},
}
