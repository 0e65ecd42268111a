"""Updates gold.order_comparisons after new events, and after changes of the shop's orders."""

from collections.abc import Collection
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.changed_versions import ChangedVersions, dimensions_through
from gold.orders.order_rows import order_events, order_rows
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.shop import ORDERS
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import EPOCH, from_micros, to_micros


class OrderComparisons:
    """Keeps gold.order_comparisons, where there is a shop's database.

    Args:
        lake: the tables.
        zone: the business time zone.
        goals: goals that are orders.
    """

    def __init__(self, lake: Lakehouse, zone: str, goals: Collection[str]) -> None:
        self._lake, self._zone, self._goals = lake, zone, goals
        self._events = lake.high_water_mark(ORDER_COMPARISONS.name) or EPOCH
        self._changes = from_micros(lake.last_commit(ORDER_COMPARISONS.name).get("shop", 0))

    def update(self, upto: datetime) -> None:
        """Compare the orders of new events and of new changes, up to an ingest stamp."""
        changes = dimensions_through(self._lake)
        if (upto, changes) == (self._events, self._changes) or not self._has_orders:
            return
        ids = self._affected(upto, changes)
        self._events, self._changes = upto, changes
        self.compare(ids, upto)

    def compare_erased(self, orders: DataFrame, upto: datetime) -> None:
        """Compare orders again whose events were erased, and those whose version is not there any more.

        Args:
            orders: order_id of erased events.
            upto: high-water mark of the commit, an ingest stamp.
        """
        versions = self._lake.read(ORDERS.name).select(F.col("version_id").alias("shop_version_id"))
        known = self._lake.read(ORDER_COMPARISONS.name).where("shop_version_id IS NOT NULL")
        outdated = known.join(versions, "shop_version_id", "left_anti").select("order_id")
        self.compare(orders.where("order_id IS NOT NULL").select("order_id").union(outdated), upto)

    def compare(self, orders: DataFrame, upto: datetime) -> None:
        """Compare orders again, where there is a shop's database.

        Args:
            orders: order_id.
            upto: high-water mark of the commit, an ingest stamp.
        """
        if not self._has_orders:
            return
        ids = checkpoint(orders.distinct())
        events, versions, known = (
            semi_join(self._lake.read(table.name), ids, "order_id")
            for table in (EVENTS, ORDERS, ORDER_COMPARISONS)
        )
        self._write(known, order_rows(events, versions, self._goals, self._zone), upto)

    def all_rows(self) -> DataFrame:
        """All rows; none without a shop's database."""
        events, versions = (self._lake.read(table.name) for table in (EVENTS, ORDERS))
        events = events if self._has_orders else events.limit(0)
        return order_rows(events, versions, self._goals, self._zone)

    @property
    def _has_orders(self) -> bool:
        """Whether the shop has ever had an order: the version 0 of a table is empty."""
        return bool(self._lake.version(ORDERS.name))

    def _affected(self, upto: datetime, changes: datetime) -> DataFrame:
        """order_id of orders with a new event, or with a version of a row that has a new change."""
        events = self._lake.read(EVENTS.name).where(stamped_within(self._events, upto))
        changed = ChangedVersions(self._lake, self._changes, changes).of_rows(ORDERS)
        return order_events(events, self._goals).select("order_id").union(changed.select("order_id"))

    def _write(self, before: DataFrame, after: DataFrame, upto: datetime) -> None:
        table, name = ORDER_COMPARISONS, ORDER_COMPARISONS.name
        folded = folded_changes((table,), {name: before}, {name: after}, "order_id")
        changes, extents, _ = checkpoint_changes(folded, (table,))
        write_kind(self._lake, table, changes, extents, upto, shop=to_micros(self._changes))
