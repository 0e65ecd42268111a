"""Generated history and micro-batches for the deduplication benchmark, created inside Spark."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.contracts.silver import EVENTS

BATCH = 200_000  # records per micro-batch, and per ingest stamp of the history
AGES = 8  # different ages of the old copies in a usual micro-batch
_RECENT, _OLD, _WITHIN = 1_800, 192, 8  # copies: of the stamp before, of old stamps, of the batch itself
_START = datetime(2025, 1, 1, tzinfo=timezone.utc)
_PAUSE = timedelta(minutes=30)


def stamp_of(number: int) -> datetime:
    """The ingest stamp of the records that start at `number * BATCH`."""
    return _START + number * _PAUSE


def history(spark: SparkSession, first: int, end: int) -> DataFrame:
    """Events of the stamps from `first` to `end`, one file per stamp. Columns without lookups are null."""
    rows = spark.range(first * BATCH, end * BATCH, 1, end - first)
    known = rows.select(
        _uid(F.col("id")).alias("event_id"),
        *_place(F.col("id"), F.timestamp_seconds(_seconds(F.col("id")))),
        F.timestamp_seconds(_seconds(F.col("id"))).alias("event_time"),
    )
    return _complete(known)


@dataclass(frozen=True)
class Planned:
    """A micro-batch after the history, with planted copies.

    Args:
        stamps: number of stamps in the history.
        number: unique number of the batch.
        sources: offsets of the records that are copied, one per copy.
    """

    stamps: int
    number: int
    sources: tuple[int, ...]

    @property
    def base(self) -> int:
        """Offset of its first record. Batches have disjoint offsets."""
        return (10**6 + self.number) * BATCH

    @property
    def planted(self) -> dict[int, int]:
        """Offset of each copy, and of the original record."""
        step = BATCH // (len(self.sources) + 1)
        return {self.base + (i + 1) * step: source for i, source in enumerate(self.sources)}

    @property
    def stamp(self) -> datetime:
        """Its ingest stamp."""
        return stamp_of(self.stamps)

    def candidates(self, spark: SparkSession) -> DataFrame:
        """Its records as parsed by refine. A copy shares only the UID with its source."""
        copies = spark.createDataFrame(list(self.planted.items()), "offset bigint, source bigint")
        rows = spark.range(self.base, self.base + BATCH, 1, spark.sparkContext.defaultParallelism)
        rows = rows.join(F.broadcast(copies), F.col("id") == F.col("offset"), "left")
        uid = _uid(F.coalesce("source", "id")).alias("event_id")
        known = rows.select(uid, *_place(F.col("id"), F.lit(self.stamp)), *_content(F.col("id"), self.stamp))
        nothing = F.lit(None).cast("string")
        return _complete(known).withColumns({"reason": nothing, "heartbeat_at": nothing})


def usual_batch(stamps: int, number: int) -> Planned:
    """A batch with 1 % copies: most of the stamp before, some of the batch itself, some of eight ages."""
    first = (stamps - 1) * BATCH
    recent = [first + (i * 111 + number) % BATCH for i in range(_RECENT)]
    ages = [age * (stamps - 1) // (AGES - 1) for age in range(AGES)]
    old = [ages[i % AGES] * BATCH + (7 + i * 997 + number * 31) % BATCH for i in range(_OLD)]
    plain = Planned(stamps, number, ())
    within = [plain.base + i for i in range(_WITHIN)]
    return Planned(stamps, number, tuple(dict.fromkeys(recent + old)) + tuple(within))


def every_age(stamps: int, number: int) -> Planned:
    """A batch with copies of five records, including first and last, of every stamp of the history."""
    sources = [s * BATCH + i for s in range(stamps) for i in (0, 17, BATCH // 2, BATCH - 17, BATCH - 1)]
    return Planned(stamps, number, tuple(sources))


def _uid(number: Column) -> Column:
    return F.lower(F.concat(*(F.lpad(F.hex(F.xxhash64(number, F.lit(seed))), 16, "0") for seed in (7, 8))))


def _seconds(number: Column) -> Column:
    stamp = F.floor(number / BATCH)
    return stamp * int(_PAUSE.total_seconds()) + int(_START.timestamp())


def _place(number: Column, stamp: Column) -> list[Column]:
    return [
        F.lit("events").alias("topic"),
        F.lit(0).alias("partition"),
        number.alias("offset"),
        stamp.alias("ingested_at"),
    ]


def _content(number: Column, stamp: datetime) -> list[Column]:
    """The content of a page view in a shop, about 350 bytes."""
    visitor, page = F.xxhash64(number % 50_000), (number % 5_000).cast("string")
    time = F.lit(stamp) + F.make_dt_interval(secs=(number % 1_800).cast("decimal(18,6)"))
    url = F.concat(F.lit("https://shop.example/category/garden/product/"), page, F.lit("?utm_source=news"))
    content = {
        "type": F.lit("page"),
        "role": F.lit("page_view"),
        "visitor_id": F.hex(visitor),
        "event_time": time,
        "device_time": time,
        "arrival_time": time,
        "is_late": F.lit(False),
        "url": url,
        "referrer": F.lit("https://shop.example/category/garden"),
        "user_agent": F.lit("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        "channel": F.lit("Email"),
        "properties": F.concat(F.lit('{"path": "/product/'), page, F.lit('", "nonce": "'), F.hex(number)),
    }
    return [column.alias(name) for name, column in content.items()]


def _complete(rows: DataFrame) -> DataFrame:
    rows = rows.withColumn("event_hash", F.xxhash64("event_id"))
    missing = {c.name: F.lit(None).cast(c.type) for c in EVENTS.columns if c.name not in rows.columns}
    return rows.withColumns(missing).drop("id")
