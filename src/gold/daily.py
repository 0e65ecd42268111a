"""What is kept by day: campaigns, searches and the funnel, computed anew for the days concerned."""

from collections.abc import Callable, Iterable
from datetime import date

from pyspark.sql import DataFrame

from gold.campaigns import measure_campaigns
from gold.days import Days
from gold.funnel import measure_funnel
from gold.searches import measure_searches
from gold.view import View
from lakehouse.batches import Batch
from lakehouse.contracts.gold import (
    ATTRIBUTION,
    CAMPAIGN_PERFORMANCE,
    CONVERSIONS,
    FUNNEL,
    SEARCH_PERFORMANCE,
)
from lakehouse.contracts.silver import EVENTS, SEARCHES, SESSIONS
from lakehouse.frames import settle
from lakehouse.restating import restate
from lakehouse.tables import Lakehouse


class Daily:
    """Keeps the tables that go by day.

    Args:
        lake: the tables.
        zone: the time zone that days go by.
    """

    def __init__(self, lake: Lakehouse, zone: str) -> None:
        self._lake = lake
        self._zone = zone

    def __call__(
        self,
        days: list[date],
        view: View,
        orders: Iterable[str],
        clicks: Callable[[Days], DataFrame],
        batch: Batch,
    ) -> int:
        """Compute some days anew; return how many rows changed.

        Args:
            days: which.
            view: what silver knows.
            orders: goals that are orders.
            clicks: gives the gold.touches of kind `click` of some days.
            batch: the micro-batch.
        """
        if not days:
            return 0
        these = Days(days, self._zone)
        clicked = settle(clicks(these))
        found = self.measure(these, view, orders, clicked)
        return sum(self._restate(name, rows, these, batch) for name, rows in found.items())

    def measure(
        self, days: Days, view: View, orders: Iterable[str], clicks: DataFrame
    ) -> dict[str, DataFrame]:
        """What the tables are to say of some days, by name of the table."""
        events = settle(self._events(days, view))
        searches = self._of(SEARCHES.name, "event_time", days, view)
        conversions = self._of(CONVERSIONS.name, "converted_at", days, view)
        return {
            CAMPAIGN_PERFORMANCE.name: self._campaigns(days, view, events, clicks),
            SEARCH_PERFORMANCE.name: measure_searches(searches, days),
            FUNNEL.name: measure_funnel(events, clicks, conversions, orders, days),
        }

    def _restate(self, name: str, rows: DataFrame, days: Days, batch: Batch) -> int:
        before = self._lake.read(name).where(days.are("day"))
        return restate(self._lake, name, settle(before), settle(rows), batch.upto)

    def _events(self, days: Days, view: View) -> DataFrame:
        rows = self._of(EVENTS.name, "event_time", days, view)
        campaign = ("campaign_source", "campaign_medium", "campaign_name", "promotion_id")
        return rows.where("role IN ('impression', 'page_view', 'search')").select(
            "visitor_id", "event_id", "event_time", "role", *campaign
        )

    def _campaigns(self, days: Days, view: View, events: DataFrame, clicks: DataFrame) -> DataFrame:
        return measure_campaigns(
            events.where("role = 'impression'"),
            clicks,
            self._of(SESSIONS.name, "started_at", days, view),
            self._lake.read(ATTRIBUTION.name).where(days.hold("converted_at")),
            days,
        )

    def _of(self, name: str, time: str, days: Days, view: View) -> DataFrame:
        return view.people(self._lake.read(name).where(days.hold(time)))
