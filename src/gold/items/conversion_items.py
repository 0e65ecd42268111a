"""Updates gold.conversion_items after changes of conversions, and after changes of the shop's database."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.changed_versions import ChangedVersions, dimensions_through
from gold.items.item_rows import Versions, item_rows
from lakehouse.contracts.gold import CONVERSIONS, TRAILS
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.shop import CUSTOMERS, PRODUCTS
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.timestamps import LAST, from_micros, span_micros, to_micros

_LENGTH = timedelta(minutes=15)
_QUARTER, _IS_MARKED = "_quarter", "_is_marked"


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

        A micro-batch of publish marks in gold.visitor_minutes the quarter-hours of the conversions that it
        affects, as they were and as they are.

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

    def _affected(self, done: int, through: datetime) -> "_Affected | None":
        new = self._lake.read(VISITOR_MINUTES.name).where(F.col("sequence") > done)
        at = F.col(_QUARTER)
        quarters, found = checkpoint_with(
            new.select(_quarter_of("minute").alias(_QUARTER)).distinct(), near=hours_between(at, at, _LENGTH)
        )
        near = found["near"]
        since = None
        if through > self._through:
            since = ChangedVersions(self._lake, self._through, through).earliest()
        if since is not None:
            near = [*near, (since // span_micros(_LENGTH), to_micros(LAST) // span_micros(_LENGTH))]
        return _Affected(quarters, since, TimePruner.of_hours(near, length=_LENGTH)) if near else None

    def _write(self, affected: "_Affected", upto: datetime, versions: int) -> None:
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


@dataclass(frozen=True)
class _Affected:
    """Times of conversions to recompute.

    Args:
        quarters: starts of quarter-hours as `_QUARTER`, in microseconds, each once. Checkpointed.
        since: all later times are affected, too; None: no others.
        near: contains all of them.
    """

    quarters: DataFrame
    since: int | None
    near: TimePruner

    def select(self, rows: DataFrame) -> DataFrame:
        """Rows whose `converted_at` is affected."""
        marks = F.broadcast(self.quarters.withColumn(_IS_MARKED, F.lit(True)))
        found = rows.where(self.near.contains("converted_at")).withColumn(
            _QUARTER, _quarter_of("converted_at")
        )
        is_affected = F.coalesce(_IS_MARKED, F.lit(False))
        if self.since is not None:
            is_affected |= F.unix_micros("converted_at") >= self.since
        return found.join(marks, _QUARTER, "left").where(is_affected).select(*rows.columns)


def _quarter_of(time: str) -> Column:
    at = F.unix_micros(time)
    return at - F.pmod(at, F.lit(span_micros(_LENGTH)))
