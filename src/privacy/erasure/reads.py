"""Queries of readers that name a person, in ops.reads of a catalog."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.timestamps import from_micros, rfc3339
from privacy.erasure.naming import naming

READS = "ops.reads"
_BATCH = 500  # queries that one commit deletes


def delete_reads(spark: SparkSession, texts: Sequence[str]) -> None:
    """Delete rows whose query names one of the texts, in the session's current catalog. Idempotent.

    Args:
        spark: a session.
        texts: identifiers of the persons alone.
    """
    if not texts or not spark.catalog.tableExists(READS):
        return
    reads = spark.table(READS).where("subject IS NOT NULL").select("read_at", "subject")
    found = naming(reads, texts, "subject").select(F.unix_micros("read_at")).collect()
    for condition in conditions(from_micros(at) for (at,) in found):
        spark.sql(f"DELETE FROM {READS} WHERE {condition}")


def conditions(times: Iterable[datetime]) -> Iterator[str]:
    """Conditions in SQL on rows of ops.reads: by time, since a condition stays in the table's log."""
    found = sorted(set(times))
    for start in range(0, len(found), _BATCH):
        listed = ", ".join(f"'{rfc3339(each)}'" for each in found[start : start + _BATCH])
        yield f"read_at IN ({listed})"
