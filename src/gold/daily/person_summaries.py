"""Summaries of persons and of the shop's database: persons, order comparisons and timelines of visitors."""

from datetime import datetime

from pyspark.sql import DataFrame

from folds.persons.refunds import load_order_rules
from gold.cohorts.persons import Persons
from gold.credit.dimensions import Dimensions
from gold.orders.order_comparisons import OrderComparisons
from gold.timeline.visitor_timeline import VisitorTimeline
from lakehouse.run.job import JobContext


class PersonSummaries:
    """Updates gold.persons, gold.order_comparisons and gold.visitor_timeline.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        lake, zone = run.lake, run.settings.business_time_zone
        goals = load_order_rules(run.settings.conf).orders
        self._persons = Persons(lake, zone)
        self._orders = OrderComparisons(lake, zone, goals)
        self._timeline = VisitorTimeline(lake)

    def is_stale(self, side_input_upto: datetime) -> bool:
        """Whether side input up to an ingest stamp may change persons."""
        return self._persons.is_stale(side_input_upto)

    def update_persons(
        self, done: int, dimensions: Dimensions, upto: datetime, side_input_upto: datetime
    ) -> None:
        """Compute the persons of visitors with changes again; see `Persons.update`."""
        self._persons.update(done, dimensions, upto, side_input_upto)

    def update_joined(self, upto: datetime, side_input_upto: datetime) -> None:
        """Apply new events, logins and changes of the shop's database to the tables that join them.

        Args:
            upto: high-water mark of gold, an ingest stamp.
            side_input_upto: the same of the side input.
        """
        self._orders.update(upto)
        self._timeline.update(upto, side_input_upto)

    def forget(self, erased: DataFrame, visitors: DataFrame, dimensions: Dimensions, upto: datetime) -> None:
        """Remove what is left of erased events.

        Args:
            erased: event_id and order_id.
            visitors: visitor_id of the visitors whose rows may change.
            dimensions: the current dimensions.
            upto: high-water mark of gold, an ingest stamp.
        """
        self._timeline.forget(erased.select("event_id"), visitors, upto)
        self._orders.compare_erased(erased, upto)
        self._persons.delete_unknown(dimensions, upto)
