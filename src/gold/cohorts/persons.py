"""Updates gold.persons: the persons of visitors with new minutes are computed again."""

from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.changed_quarters import changed_quarters
from gold.cohorts.person_rows import person_rows
from gold.credit.dimensions import Dimensions
from gold.credit.persons import with_person
from lakehouse.contracts.cohorts import PERSONS
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.silver import IDENTITIES, SESSIONS
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import from_micros, to_micros


class Persons:
    """Keeps gold.persons. People without consent to analytics or attribution are not in it.

    Args:
        lake: the tables.
        zone: the business time zone.
    """

    def __init__(self, lake: Lakehouse, zone: str) -> None:
        self._lake = lake
        self._zone = zone
        self._side_input_upto = from_micros(lake.last_commit(PERSONS.name).get("heard", 0))

    def is_stale(self, side_input_upto: datetime) -> bool:
        """Whether side input up to an ingest stamp may change persons."""
        tables = (IDENTITIES, CONSENTS)
        is_new = side_input_upto > self._side_input_upto
        return is_new and any(
            self._lake.has_commit_after(table.name, self._side_input_upto) for table in tables
        )

    def update(self, done: int, dimensions: Dimensions, upto: datetime, side_input_upto: datetime) -> None:
        """Compute the persons of visitors with new minutes, identities or consents again.

        Args:
            done: sequence of gold.visitor_minutes through which persons are up to date.
            dimensions: the current dimensions.
            upto: high-water mark of gold, an ingest stamp.
            side_input_upto: the same of the side input: identities and consents.
        """
        persons = checkpoint(self._affected(done, side_input_upto))
        self._side_input_upto = max(self._side_input_upto, side_input_upto)
        self._compute(persons, dimensions, upto)

    def delete_unknown(self, dimensions: Dimensions, upto: datetime) -> None:
        """Compute persons again who have no conversion, and are no user and no visitor with a touch."""
        known = (
            self._lake.read(IDENTITIES.name).select("user_id"),
            self._lake.read(TOUCHES.name).select("visitor_id"),
            self._lake.read(CONVERSIONS.name).select("person_id"),
        )
        persons = self._lake.read(PERSONS.name).select("person_id")
        others = persons.join(reduce(DataFrame.union, known).toDF("person_id"), "person_id", "left_anti")
        self._compute(checkpoint(others), dimensions, upto)

    def _compute(self, persons: DataFrame, dimensions: Dimensions, upto: datetime) -> None:
        spans = checkpoint(dimensions.spans_of(persons))
        before = semi_join(self._lake.read(PERSONS.name), persons, "person_id")
        touches, sessions = (
            semi_join(
                dimensions.with_person(semi_join(rows, spans, "visitor_id"), time), persons, "person_id"
            )
            for rows, time in self._visits(dimensions)
        )
        conversions = semi_join(self._conversions(), persons, "person_id")
        after = person_rows(touches, sessions, conversions, self._zone)
        folded = folded_changes((PERSONS,), {PERSONS.name: before}, {PERSONS.name: after}, "person_id")
        changes, extents, _ = checkpoint_changes(folded, (PERSONS,))
        write_kind(self._lake, PERSONS, changes, extents, upto, heard=to_micros(self._side_input_upto))

    def all_rows(self, dimensions: Dimensions) -> DataFrame:
        """All rows."""
        identities = self._lake.read(IDENTITIES.name)
        touches, sessions = (with_person(rows, identities, time) for rows, time in self._visits(dimensions))
        return person_rows(touches, sessions, self._conversions(), self._zone)

    def _affected(self, done: int, side_input_upto: datetime) -> DataFrame:
        """person_id of persons with changed conversions, and of those that visitors with changes are or were.

        A refund or cancellation may be of another person than its order, whose consent it follows.
        """
        minutes = self._lake.read(VISITOR_MINUTES.name).where(F.col("sequence") > done)
        identities, consents = (
            self._lake.read(table.name).where(stamped_within(self._side_input_upto, side_input_upto))
            for table in (IDENTITIES, CONSENTS)
        )
        changed = reduce(
            DataFrame.union, (rows.select("visitor_id") for rows in (minutes, identities, consents))
        )
        visitors = checkpoint(changed.where("visitor_id IS NOT NULL").distinct())
        users = semi_join(self._lake.read(IDENTITIES.name), visitors, "visitor_id").select("user_id")
        others = semi_join(self._lake.read(CONVERSIONS.name), visitors, "visitor_id").select("person_id")
        found = visitors.union(users).union(others)
        if quarters := changed_quarters(self._lake, done):
            found = found.union(quarters.select(self._lake.read(CONVERSIONS.name)).select("person_id"))
        return found.toDF("person_id").distinct()

    def _visits(self, dimensions: Dimensions) -> tuple[tuple[DataFrame, str], tuple[DataFrame, str]]:
        """Touches and sessions that count, each with the name of its time."""
        touches = self._lake.read(TOUCHES.name).where("earns_credit AND has_attribution_consent IS NOT FALSE")
        sessions = self._lake.read(SESSIONS.name).withColumnRenamed("first_event_id", "event_id")
        return (
            (dimensions.counted(touches, "touched_at", "event_id"), "touched_at"),
            (dimensions.counted(sessions, "started_at", "event_id"), "started_at"),
        )

    def _conversions(self) -> DataFrame:
        """Conversions that count: of orders, refunds and other goals."""
        consents = "is_credited IS NOT FALSE AND has_analytics_consent IS NOT FALSE"
        return self._lake.read(CONVERSIONS.name).where(consents)
