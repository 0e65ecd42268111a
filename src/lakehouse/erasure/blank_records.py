"""Erases records in bronze: their coordinates stay, so that each is ingested once."""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.exclusive import lock_of
from lakehouse.delta.merge import Scope
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.time_pruner import SECOND, TimePruner, hours_between

PLACE = ("topic", "partition", "offset")

KEPT_HEADERS = ("manifest", "source", "node")
"""Headers that Millrace's own clients and collectors add: audits count records by them."""


def blank_records(lake: Lakehouse, places: DataFrame, upto: datetime) -> None:
    """Remove key, value and headers of records from bronze, in one commit. Idempotent.

    Args:
        lake: the tables.
        places: `PLACE` and ingested_at of the records, each once. Checkpointed.
        upto: an ingest stamp for the commit's metadata.
    """
    stamp = F.unix_micros("ingested_at")
    seconds = places.agg(hours_between(stamp, stamp, SECOND)).collect()[0][0]
    if not seconds:
        return
    near = TimePruner.of_hours(seconds, length=SECOND)
    records = lake.read(KAFKA_RECORDS.name).where(near.contains("ingested_at"))
    theirs = records.join(places.select(*PLACE), list(PLACE), "left_semi")
    others = F.coalesce(F.exists("headers", lambda header: ~_is_kept(header)), F.lit(False))
    has_content = F.col("key").isNotNull() | F.col("value").isNotNull() | others
    kept = F.filter("headers", _is_kept)
    blank = {name: F.lit(None).cast("binary") for name in ("key", "value")}
    changes = theirs.where(has_content).withColumns({**blank, "headers": kept, DELETED: F.lit(False)})
    rows, found = checkpoint_with(changes, count=F.count(F.lit(1)))
    if found["count"]:
        # not `lake.exclusive`, which forgets the versions that the caller's micro-batch has read
        with lock_of(lake.settings.warehouse, KAFKA_RECORDS.name):
            lake.merge_changes(KAFKA_RECORDS.name, rows, upto, Scope(time="ingested_at", near=near))


def _is_kept(header: Column) -> Column:
    return header["key"].isin(*KEPT_HEADERS)
