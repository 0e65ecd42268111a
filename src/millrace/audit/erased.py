"""Erased records, as the audit counts them."""

from datetime import datetime
from typing import Any

import narwhals as nw

from lakehouse.contracts.ops import ERASED_RECORDS
from lakehouse.settings import Settings
from millrace.tables.table_scan import scan, value_of

PLACE = ("topic", "partition", "offset")
Frame = nw.LazyFrame[Any]


class ErasedRecords:
    """Records of ops.erased_records up to an ingest stamp.

    An erasure lists records before it deletes their rows: while it runs, or after it was interrupted, rows
    that are still there count as what they were.

    Args:
        settings: the settings in force.
        position: the ingest stamp.
        of_shop: records of the shop's database, instead of all others.
    """

    def __init__(self, settings: Settings, position: datetime, of_shop: bool = False) -> None:
        self._settings = settings
        rows = scan(settings, ERASED_RECORDS.name)
        is_of_shop = nw.col("topic") == settings.shop_changes_topic
        wanted = (is_of_shop if of_shop else ~is_of_shop) & (nw.col("ingested_at") <= position)
        self._rows = None if rows is None else rows.filter(wanted)

    def left_of(self, records: Frame) -> Frame:
        """Records of bronze that are not erased."""
        if self._rows is None:
            return records
        return records.join(self._rows.select(*PLACE), on=list(PLACE), how="anti")

    def beyond(self, *tables: str, record_class: str | None = None) -> int:
        """Number of erased records that have no row in some tables.

        Args:
            tables: tables of silver with a record's coordinates.
            record_class: only records of this class.
        """
        rows = self._rows
        if rows is None:
            return 0
        if record_class is not None:
            rows = rows.filter(nw.col("record_class") == record_class)
        rows = rows.select(*PLACE)
        for name in tables:
            known = scan(self._settings, name)
            if known is not None:
                rows = rows.join(known.select(*PLACE), on=list(PLACE), how="anti")
        return int(value_of(rows.select(nw.len())))
