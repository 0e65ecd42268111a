"""Deduplication designs, each including the write of new events: the one of refine, and alternatives."""

from collections.abc import Callable
from datetime import datetime

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.dedup_traffic import Planned, stamp_of
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from silver.dedup.deduplicate import ENTRY, PLACE, find_duplicates

Copies = dict[int, int]  # offset of each copy, and of the original record


class Joined:
    """The design of refine: the column of hashes of all events, then the few files with a match."""

    def __init__(self, lake: Lakehouse, stamps: int) -> None:
        self._lake = lake
        self._after = stamp_of(stamps - 1)

    def __call__(self, candidates: DataFrame, batch: Planned) -> Copies:
        """Find the copies and append the rest."""
        copies = find_duplicates(candidates.select(*ENTRY), self._lake.read(EVENTS.name), self._after)
        return _append_rest(self._lake, candidates, checkpoint(copies), batch.stamp)


class Merged:
    """An insert-only MERGE on the UID, into the same table."""

    def __init__(self, lake: Lakehouse, stamps: int) -> None:
        self._lake = lake

    def __call__(self, candidates: DataFrame, batch: Planned) -> Copies:
        """Merge. The result does not show which records are copies."""
        source = candidates.select(*EVENTS.column_names).dropDuplicates(["event_id"])
        table = DeltaTable.forName(self._lake.spark, EVENTS.name).alias("t")
        table.merge(source.alias("s"), "t.event_id = s.event_id").whenNotMatchedInsertAll().execute()
        return {}


class Stream:
    """A streaming query that drops duplicates, with the UIDs as state in RocksDB.

    Its rows have only two columns, UID and time, which is in its favour.
    """

    def __init__(self, spark: SparkSession, folder: str, drop: Callable[[DataFrame], DataFrame]) -> None:
        self._spark = spark
        self._folder = f"{folder}/input"
        self._add(_nothing(spark))
        rows = spark.readStream.format("delta").load(self._folder).withWatermark("event_time", "100000 days")
        writer = drop(rows).writeStream.format("delta").option("checkpointLocation", f"{folder}/checkpoint")
        self._query: StreamingQuery = writer.start(f"{folder}/output")

    def feed(self, rows: DataFrame) -> float:
        """Process rows. Returns the seconds of their micro-batches."""
        done = self._last_batch()
        self._add(rows.select("event_id", "event_time"))
        self._query.processAllAvailable()
        recent = [p for p in self._query.recentProgress if p["batchId"] > done and p["numInputRows"]]
        return float(sum(p["durationMs"]["triggerExecution"] for p in recent)) / 1000

    def stop(self) -> None:
        """Stop the query, without logging the interruption."""
        context = self._spark.sparkContext
        context.setLogLevel("OFF")
        self._query.stop()
        context.setLogLevel("ERROR")

    def _last_batch(self) -> int:
        recent = [p["batchId"] for p in self._query.recentProgress if p["numInputRows"]]
        return max(recent, default=-1)

    def _add(self, rows: DataFrame) -> None:
        rows.write.format("delta").mode("append").save(self._folder)


def _nothing(spark: SparkSession) -> DataFrame:
    """An empty frame with the columns of the stream."""
    return spark.createDataFrame([], "event_id string, event_time timestamp")


def _append_rest(lake: Lakehouse, candidates: DataFrame, copies: DataFrame, upto: datetime) -> Copies:
    events = candidates.join(F.broadcast(copies.select(*PLACE)), list(PLACE), "left_anti")
    lake.append(EVENTS.name, events, upto=upto)
    return {row.offset: row.first_offset for row in copies.select("offset", "first_offset").collect()}
