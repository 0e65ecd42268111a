"""Changes of the shop's database that tables of gold have not applied yet."""

from datetime import datetime
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.shop import SHOP_CHANGES, Dimension
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.ledger import Ledger
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import EPOCH, FIRST, to_micros

_ROW = ("source", "source_table", "row_key")


def dimensions_through(lake: Lakehouse) -> datetime:
    """The ingest stamp through which the job `dimensions` has applied changes of the shop's database."""
    last = Ledger(lake).last("dimensions")
    return last.position if last else EPOCH


class ChangedVersions(NamedTuple):
    """Changes of the shop's database that the job `dimensions` has applied.

    Args:
        lake: the tables.
        after: ingest stamp of the last change before.
        through: ingest stamp of the last of these changes.
    """

    lake: Lakehouse
    after: datetime
    through: datetime

    def of_rows(self, table: Dimension) -> DataFrame:
        """All versions of changed rows of a table; of a truncated table, all versions."""
        versions, changed = self.lake.read(table.name), self._changes()
        rows, tables = changed.where("row_key IS NOT NULL"), changed.where("row_key IS NULL")
        return semi_join(versions, rows, *_ROW).union(semi_join(versions, tables, *_ROW[:2]))

    def earliest(self, table: Dimension | None = None) -> int | None:
        """The earliest time that a change is about, in microseconds; None without any.

        Args:
            table: only changes of tables of the shop that this dimension has rows of.
        """
        changes = self._changes()
        if table:
            changes = semi_join(changes, self.lake.read(table.name).select(*_ROW[:2]).distinct(), *_ROW[:2])
        is_of_snapshot = F.col("transaction_id") == 0
        since = F.when(is_of_snapshot, F.lit(to_micros(FIRST))).otherwise(F.unix_micros("committed_at"))
        found: int | None = changes.agg(F.min(since)).collect()[0][0]
        return found

    def _changes(self) -> DataFrame:
        return self.lake.read(SHOP_CHANGES.name).where(stamped_within(self.after, self.through))
