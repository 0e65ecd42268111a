"""Removes the content of old records: events stay, and can no longer be computed from bronze again."""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, LOCK, REJECTED_EVENTS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.write_changes import OLD_TIME, write_changes
from lakehouse.erasure.blank_records import PLACE, blank_records
from lakehouse.errors import MillraceError
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.side_topics import require_side_topics

_STAMP = "ingested_at"


def remove_old_content(run: JobContext, before: datetime) -> int:
    """Remove key, value and headers of events' records that were ingested before a time. Idempotent.

    Records that are not refined yet stay, and so do exchange rates, costs and changes of the shop's database.
    A day of records is one commit. Jobs of silver wait for one day at a time.

    Args:
        run: the job's context.
        before: an ingest stamp.

    Returns:
        The number of records.
    """
    lake, last = run.lake, Ledger(run.lake).last("refine")
    if last is None:
        return 0
    require_side_topics(run)
    of_events = ~F.col("topic").isin(*run.settings.side_topics, run.settings.shop_changes_topic)
    old = (F.col(_STAMP) < F.lit(before)) & (F.col(_STAMP) <= F.lit(last.position))
    records = lake.read(KAFKA_RECORDS.name).where(of_events & old & F.col("value").isNotNull())
    places = checkpoint(records.select(*PLACE, _STAMP))
    days = sorted(row[0] for row in places.select(F.to_date(_STAMP)).distinct().collect())
    for day in days:
        if run.stop.is_set():
            return 0
        with run.slot, lake.exclusive(LOCK):
            blank_records(lake, checkpoint(places.where(F.to_date(_STAMP) == F.lit(day))), before)
    with run.slot, lake.exclusive(LOCK):
        rejected = lake.read(REJECTED_EVENTS.name).where(of_events & old & F.col("value").isNotNull())
        at = F.col(str(REJECTED_EVENTS.event_time))
        nothing = {"value": F.lit(None).cast("binary"), DELETED: F.lit(False), OLD_TIME: at}
        write_changes(lake, REJECTED_EVENTS, rejected.withColumns(nothing), before)
    return places.count()


def require_content(run: JobContext, records: DataFrame) -> None:
    """Check that bronze has the content of all records that are in silver.

    Args:
        run: the job's context.
        records: of bronze, from which silver is about to be computed.

    Raises:
        MillraceError: if the content of some was removed by `remove_old_content`.
    """
    blank = records.where("value IS NULL AND key IS NULL").select(*PLACE, _STAMP)
    for table in (EVENTS, DUPLICATE_EVENTS):
        known = run.lake.read(table.name).select(*PLACE)
        latest = blank.join(known, list(PLACE), "left_semi").agg(F.max(_STAMP)).collect()[0][0]
        if latest is not None:
            raise MillraceError(
                f"bronze has no content of records through {latest:%Y-%m-%d}: conf/retention.yml",
                "Tables of silver can't be computed from bronze any more; rebuild tables of gold",
            )
