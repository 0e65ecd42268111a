"""Updates gold.conversion_items after changes of conversions, and after changes of the shop's database."""

from datetime import datetime

from pyspark.sql import DataFrame

from gold.changed_quarters import ChangedQuarters, changed_quarters
from gold.changed_versions import ChangedVersions, dimensions_through
from gold.items.item_rows import Versions, item_rows
from lakehouse.contracts.gold import CONVERSIONS, TRAILS
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.shop import CUSTOMERS, PRODUCTS
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.timestamps import from_micros, to_micros


class ConversionItems:
    """Keeps gold.conversion_items as of the latest versions of customers and products.

    These are read at their latest version, whatever the gate has approved: no expectation is about them.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._through = from_micros(lake.last_commit(CONVERSION_ITEMS.name).get("versions", 0))

    @property
    def is_behind(self) -> bool:
        """Whether the shop's database has changes that are not applied yet."""
        return dimensions_through(self._lake) > self._through

    def update(self, done: int, upto: datetime) -> None:
        """Recompute the items of conversions that may have changed, or whose versions may have.

        Args:
            done: sequence of gold.visitor_minutes through which conversions have been applied.
            upto: high-water mark of gold, an ingest stamp.
        """
        through = dimensions_through(self._lake)
        if not any(self._lake.version(table.name) for table in (CUSTOMERS, PRODUCTS)):  # 0 is empty
            return
        if affected := self._affected(done, through):
            self._write(affected, upto, to_micros(through))
        self._through = through

    def all_rows(self) -> DataFrame:
        """All rows, from gold.conversions and gold.trails as they are."""
        read = self._lake.read
        return item_rows(read(CONVERSIONS.name), read(TRAILS.name), read(EVENTS.name), self._versions())

    def _affected(self, done: int, through: datetime) -> ChangedQuarters | None:
        since = None
        if through > self._through:
            since = ChangedVersions(self._lake, self._through, through).earliest()
        return changed_quarters(self._lake, done, since)

    def _write(self, affected: ChangedQuarters, upto: datetime, versions: int) -> None:
        table, read = CONVERSION_ITEMS, self._lake.read
        conversions, before = (affected.select(read(each.name)) for each in (CONVERSIONS, table))
        trails = affected.select(read(TRAILS.name))
        events = read(EVENTS.name).where(affected.near.contains("event_time"))
        after = item_rows(conversions, trails, events, self._versions())
        folded = folded_changes((table,), {table.name: before}, {table.name: after}, "conversion_id")
        changes, extents, _ = checkpoint_changes(folded, (table,))
        write_kind(self._lake, table, changes, extents, upto, versions=versions)

    def _versions(self) -> Versions:
        return Versions(self._lake.read(CUSTOMERS.name), self._lake.read(PRODUCTS.name))
