"""Updates gold.visitor_timeline after new events, logins and changes of the shop's database."""

from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.changed_versions import ChangedVersions, dimensions_through
from gold.timeline.timeline_rows import event_rows, version_rows
from lakehouse.contracts.shop import CUSTOMERS, ORDERS
from lakehouse.contracts.silver import EVENTS, IDENTITIES
from lakehouse.contracts.timeline import EVENT, VISITOR_TIMELINE
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import EPOCH, from_micros, to_micros


class VisitorTimeline:
    """Keeps gold.visitor_timeline, where there is a shop's database. An erasure updates it as well.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        marks = lake.last_commit(VISITOR_TIMELINE.name)
        self._events = lake.high_water_mark(VISITOR_TIMELINE.name) or EPOCH
        self._side_input_upto, self._changes = (from_micros(marks.get(name, 0)) for name in ("heard", "shop"))

    def update(self, upto: datetime, side_input_upto: datetime) -> None:
        """Add new events, and the versions of visitors whose logins or customers have changed.

        Args:
            upto: high-water mark of gold, an ingest stamp.
            side_input_upto: the same of the side input: identities.
        """
        self._events = max(self._events, self._lake.high_water_mark(VISITOR_TIMELINE.name) or EPOCH)
        changes = dimensions_through(self._lake)
        now = upto, max(side_input_upto, self._side_input_upto), changes
        if now == (self._events, self._side_input_upto, self._changes) or not self._has_shop:
            return
        events = self._lake.read(EVENTS.name).where(stamped_within(self._events, upto))
        visitors = checkpoint(self._affected(now[1], changes))
        known = semi_join(self._lake.read(VISITOR_TIMELINE.name), visitors, "visitor_id")
        identities = semi_join(self._lake.read(IDENTITIES.name), visitors, "visitor_id")
        after = event_rows(events).union(self._versions_of(identities))
        before = known.where(F.col("kind") != EVENT).unionByName(self._known(events))
        self._events, self._side_input_upto, self._changes = now
        self._write(before, after, upto)

    def forget(self, erased: DataFrame, visitors: DataFrame, upto: datetime) -> None:
        """Remove events, and versions that visitors have no login for any more.

        Args:
            erased: event_id.
            visitors: visitor_id.
            upto: high-water mark of the commit, an ingest stamp.
        """
        if not self._has_shop:
            return
        known = semi_join(self._lake.read(VISITOR_TIMELINE.name), visitors, "visitor_id")
        gone = semi_join(known, erased.withColumnRenamed("event_id", "entry_id"), "entry_id")
        identities = semi_join(self._lake.read(IDENTITIES.name), visitors, "visitor_id")
        before = known.where(F.col("kind") != EVENT).unionByName(gone.where(F.col("kind") == EVENT))
        self._write(before, self._versions_of(identities), upto)

    def all_rows(self) -> DataFrame:
        """All rows of the events that publish has added; none without a shop's database."""
        events, identities = (self._lake.read(table.name) for table in (EVENTS, IDENTITIES))
        events = events.where(F.col("ingested_at") <= F.lit(self._events))  # `update` adds those after it
        rows = event_rows(events).union(self._versions_of(identities))
        return rows if self._has_shop else rows.limit(0)

    @property
    def _has_shop(self) -> bool:
        """Whether the shop has ever had a customer or an order: the version 0 of a table is empty."""
        return any(self._lake.version(table.name) for table in (CUSTOMERS, ORDERS))

    def _known(self, events: DataFrame) -> DataFrame:
        """Rows of new events: there are some only if the log has no commit of publish any more."""
        rows = self._lake.read(VISITOR_TIMELINE.name).where(F.col("kind") == EVENT)
        if self._events > EPOCH or not self._lake.version(VISITOR_TIMELINE.name):
            return rows.limit(0)
        keys = events.select("visitor_id", F.col("event_id").alias("entry_id"))
        return semi_join(rows, keys, "visitor_id", "entry_id")

    def _versions_of(self, identities: DataFrame) -> DataFrame:
        return version_rows(identities, *(self._lake.read(table.name) for table in (CUSTOMERS, ORDERS)))

    def _affected(self, side_input_upto: datetime, changes: datetime) -> DataFrame:
        """visitor_id of visitors with a new login, or whose customer or its orders have a new change."""
        identities = self._lake.read(IDENTITIES.name)
        changed = ChangedVersions(self._lake, self._changes, changes)
        found = (changed.of_rows(table).select("customer_id") for table in (CUSTOMERS, ORDERS))
        users = reduce(DataFrame.union, found).distinct()
        theirs = semi_join(identities, users.withColumnRenamed("customer_id", "user_id"), "user_id")
        new = identities.where(stamped_within(self._side_input_upto, side_input_upto))
        return new.select("visitor_id").union(theirs.select("visitor_id")).distinct()

    def _write(self, before: DataFrame, after: DataFrame, upto: datetime) -> None:
        table, name = VISITOR_TIMELINE, VISITOR_TIMELINE.name
        folded = folded_changes((table,), {name: before}, {name: after}, "visitor_id")
        changes, extents, _ = checkpoint_changes(folded, (table,))
        through, shop = to_micros(self._side_input_upto), to_micros(self._changes)
        write_kind(self._lake, table, changes, extents, upto, heard=through, shop=shop)
