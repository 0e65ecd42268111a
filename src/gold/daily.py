"""What is kept by day: campaigns, searches and the funnel, computed anew for the days concerned."""

from collections.abc import Iterable
from datetime import date, datetime
from functools import partial

from pyspark.sql import DataFrame

from gold.campaigns import measure_campaigns
from gold.credit.dimensions import Dimensions
from gold.days import Days
from gold.funnel import measure_funnel
from gold.searches import measure_searches
from lakehouse.beside import settle_all, side_by_side
from lakehouse.contracts.gold import (
    ATTRIBUTION,
    CAMPAIGN_PERFORMANCE,
    CONVERSIONS,
    FUNNEL,
    SEARCH_PERFORMANCE,
    TOUCHES,
)
from lakehouse.contracts.silver import EVENTS, SEARCHES, SESSIONS
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

    def take_in(
        self, days: list[date], dimensions: Dimensions, orders: Iterable[str], upto: datetime
    ) -> None:
        """Compute some days anew.

        Args:
            days: which.
            dimensions: who is a bot.
            orders: goals that are orders.
            upto: ingest stamp that gold is done up to.
        """
        these = Days(days, self._zone)
        measured = self.measure(these, dimensions, orders)
        side_by_side([partial(self._restate, name, rows, these, upto) for name, rows in measured.items()])

    def _restate(self, name: str, rows: DataFrame, days: Days, upto: datetime) -> None:
        before = self._lake.read(name).where(days.are("day"))
        restate(self._lake, name, before, rows, upto)

    def measure(self, days: Days, dimensions: Dimensions, orders: Iterable[str]) -> dict[str, DataFrame]:
        """What the tables are to say of some days, by name of the table."""
        clicks = self._of(TOUCHES.name, "touched_at", days, dimensions).where("kind = 'click'")
        events, clicks = settle_all(self._events(days, dimensions), clicks)
        searches = self._of(SEARCHES.name, "event_time", days, dimensions)
        conversions = self._of(CONVERSIONS.name, "converted_at", days, dimensions)
        return {
            CAMPAIGN_PERFORMANCE.name: self._campaigns(days, dimensions, events, clicks),
            SEARCH_PERFORMANCE.name: measure_searches(searches, days),
            FUNNEL.name: measure_funnel(events, clicks, conversions, orders, days),
        }

    def _events(self, days: Days, dimensions: Dimensions) -> DataFrame:
        rows = self._of(EVENTS.name, "event_time", days, dimensions)
        campaign = ("campaign_source", "campaign_medium", "campaign_name", "promotion_id")
        return rows.where("role IN ('impression', 'page_view', 'search')").select(
            "visitor_id", "event_id", "event_time", "role", *campaign
        )

    def _campaigns(
        self, days: Days, dimensions: Dimensions, events: DataFrame, clicks: DataFrame
    ) -> DataFrame:
        return measure_campaigns(
            events.where("role = 'impression'"),
            clicks,
            self._of(SESSIONS.name, "started_at", days, dimensions),
            self._lake.read(ATTRIBUTION.name).where(days.hold("converted_at")),
            days,
        )

    def _of(self, name: str, time: str, days: Days, dimensions: Dimensions) -> DataFrame:
        return dimensions.people(self._lake.read(name).where(days.hold(time)))
