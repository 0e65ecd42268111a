"""Updates gold.conversion_items after changes of conversions, and after changes of the shop's database."""

from collections.abc import Callable
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.credit.affected_conversions import AffectedConversions
from gold.items.item_rows import Versions, item_rows
from lakehouse.contracts.gold import CONVERSIONS, TRAILS
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.shop import CUSTOMERS, PRODUCTS, SHOP_CHANGES
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.rows.semi_join import semi_join, without
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.ledger import Ledger
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import EPOCH, FIRST, LAST, from_micros, to_micros

_JOB = "dimensions"


class ConversionItems:
    """Keeps gold.conversion_items as of the latest versions of customers and products.

    These are read at their latest version, whatever the gate has approved: no expectation is about them.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._through = from_micros(lake.last_commit(CONVERSION_ITEMS.name).get("versions", 0))

    def write_changed(self, affected: AffectedConversions, changes: DataFrame, upto: datetime) -> None:
        """Update the items of conversions whose row or trail changes. Called before these are written.

        Args:
            affected: the affected conversions.
            changes: a struct of `change_type` for each table of credit, checkpointed.
            upto: high-water mark, an ingest stamp.
        """
        if not self._has_versions():
            return
        conversions, steps = (rows_of_kind(changes, table.short_name) for table in (CONVERSIONS, TRAILS))
        ids = checkpoint(conversions.select("conversion_id").union(steps.select("conversion_id")).distinct())
        kept = without(semi_join(affected.before, ids, "conversion_id"), conversions, "conversion_id")
        trails = self._lake.read(TRAILS.name).where(affected.near.contains("converted_at"))
        trails = without(semi_join(trails, ids, "conversion_id"), steps, "conversion_id", "step")
        self._write(
            _with_new(kept, conversions, CONVERSIONS.column_names),
            _with_new(trails, steps, TRAILS.column_names),
            lambda rows: semi_join(rows.where(affected.near.contains("converted_at")), ids, "conversion_id"),
            affected.near,
            upto,
        )

    def write_new_versions(self, upto: datetime) -> None:
        """Update the items of conversions since the earliest change of the shop's database that is new.

        Args:
            upto: high-water mark of gold, an ingest stamp.
        """
        last = Ledger(self._lake).last(_JOB)
        if last is None or last.position <= self._through or not self._has_versions():
            return
        after, self._through = self._through, last.position
        new = self._lake.read(SHOP_CHANGES.name).where(stamped_within(after, last.position))
        is_of_snapshot = F.col("transaction_id") == 0
        since = F.when(is_of_snapshot, F.lit(EPOCH)).otherwise(F.col("committed_at"))
        [earliest] = new.agg(F.min(F.unix_micros(since))).collect()[0]
        if earliest is None:
            return
        first = FIRST if earliest == 0 else from_micros(earliest)
        near = TimePruner.of_spans([(to_micros(first), to_micros(LAST))])
        conversions, trails = (
            self._lake.read(table.name).where(near.contains("converted_at"))
            for table in (CONVERSIONS, TRAILS)
        )
        self._write(conversions, trails, lambda rows: rows.where(near.contains("converted_at")), near, upto)

    def all_rows(self) -> DataFrame:
        """All rows, from gold.conversions and gold.trails as they are."""
        read = self._lake.read
        return item_rows(read(CONVERSIONS.name), read(TRAILS.name), read(EVENTS.name), self._versions())

    def _write(
        self,
        conversions: DataFrame,
        trails: DataFrame,
        published: Callable[[DataFrame], DataFrame],
        near: TimePruner,
        upto: datetime,
    ) -> None:
        events = self._lake.read(EVENTS.name).where(near.contains("event_time"))
        after = item_rows(conversions, trails, events, self._versions())
        before = published(self._lake.read(CONVERSION_ITEMS.name))
        table, name = CONVERSION_ITEMS, CONVERSION_ITEMS.name
        folded = folded_changes((table,), {name: before}, {name: after}, "conversion_id")
        changes, extents, _ = checkpoint_changes(folded, (table,))
        write_kind(self._lake, table, changes, extents, upto, versions=to_micros(self._through))

    def _versions(self) -> Versions:
        return Versions(self._lake.read(CUSTOMERS.name), self._lake.read(PRODUCTS.name))

    def _has_versions(self) -> bool:
        """Whether there has ever been a version: the version 0 of a table is empty."""
        return any(self._lake.version(table.name) for table in (CUSTOMERS, PRODUCTS))


def _with_new(kept: DataFrame, changes: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """Published rows that do not change, and the new rows of the others."""
    return kept.select(*columns).unionByName(changes.where(~F.col(DELETED)).select(*columns))
