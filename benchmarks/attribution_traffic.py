"""Generated history and micro-batches for the attribution benchmark, created inside Spark.

Each visitor has five visits in a month, six days apart. One visit in twenty ends in an order.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from silver.visits.visit_fold import all_visits

END = datetime(2026, 11, 1, tzinfo=timezone.utc)
MONTH = timedelta(days=30)
VISITS = 5  # per visitor and month
BATCH = 20_000  # events per micro-batch
_OF_A_VISIT = 5  # events per visit
_ORDERS = 20  # one visit in 20 has an order
_LATE = 50  # one event in 50 is late
LATEST = timedelta(days=2)  # maximum lateness, as in the sample traffic
_MEDIUMS = {"Organic Search": "organic", "Email": "email", "Paid Search": "cpc"}
"""The medium of a campaign that gives a channel."""
_CHANNELS = (*_MEDIUMS, "Direct")


def stamp_of(batch: int) -> datetime:
    """The ingest stamp of a micro-batch. Number 0 is the history."""
    return END + batch * timedelta(minutes=1)


@dataclass(frozen=True)
class History:
    """Visits, spread evenly over one or more months. Each visit is a session and a touch.

    Args:
        spark: a Spark session.
        visits: number of visits.
        latest: maximum lateness of events in the micro-batches.
        months: number of months.
        visits_per_order: one visit in so many of the history ends in an order.
    """

    spark: SparkSession
    visits: int
    latest: timedelta = LATEST
    months: int = 1
    visits_per_order: int = _ORDERS

    @property
    def visitors(self) -> int:
        """Number of visitors."""
        return self.visits // self.months // VISITS

    def events(self) -> DataFrame:
        """Rows of silver.events: one page view per visit, and orders ten minutes later."""
        number = F.col("id")
        span = self.months * MONTH
        seconds = (number * int(span.total_seconds()) / self.visits).cast("bigint")
        at = F.timestamp_seconds(seconds + int((END - span).timestamp()))
        visits = self.spark.range(self.visits).withColumn("at", at)
        orders = visits.where(number % self.visits_per_order == 0).withColumn(
            "at", F.col("at") + F.lit(timedelta(minutes=10))
        )
        visitor = _visitor(number % self.visitors)
        rows = visits.select(_uid("p", number), visitor, "at", *_page(number)).unionByName(
            orders.select(_uid("o", number), visitor, "at", *_order(number)), allowMissingColumns=True
        )
        return _complete(rows, stamp_of(0))

    def batch(self, number: int) -> DataFrame:
        """Rows of silver.events of a micro-batch: visits of five events, some of them late, and orders."""
        of_visit, place = F.floor(F.col("id") / _OF_A_VISIT), F.col("id") % _OF_A_VISIT
        visit = of_visit + number * BATCH
        late = F.col("id") % _LATE == _LATE // 2
        soon = F.lit(END) + F.make_dt_interval(mins=F.lit(number * 40)) + F.make_dt_interval(secs=place * 20)
        back = F.pmod(F.xxhash64("id"), F.lit(int(self.latest.total_seconds())))
        late_at = F.lit(END) - F.lit(timedelta(hours=1)) - F.make_dt_interval(secs=back.cast("bigint"))
        at = F.when(late, late_at).otherwise(soon)
        visitor = _visitor(F.pmod(F.xxhash64(visit), F.lit(self.visitors)))
        ordered = (place == _OF_A_VISIT - 1) & (of_visit % (_ORDERS // _OF_A_VISIT) == 0) & ~late
        event = visit * _OF_A_VISIT + place
        page, order = (F.struct(*columns) for columns in (_page(event), _order(event)))
        either = [
            F.when(ordered, order[name] if name in _ORDER else None)
            .otherwise(page[name] if name in _PAGE else None)
            .alias(name)
            for name in dict.fromkeys((*_PAGE, *_ORDER))
        ]
        columns = (_uid(f"b{number}-", event), visitor, at.alias("at"), late.alias("is_late"), *either)
        rows = self.spark.range(BATCH).select(*columns)
        return _complete(rows, stamp_of(number))


_PAGE = ("type", "role", "channel", "url")
_ORDER = ("type", "role", "goal", "order_id", "value", "currency", "channel")


def sessions_of(events: DataFrame) -> DataFrame:
    """Rows of silver.sessions, all closed, computed from these events alone."""
    return all_visits(events, SESSIONS, VisitorRules.of(RuleNumbers()), END + timedelta(days=10_000))


def records_of(events: DataFrame) -> DataFrame:
    """Rows of bronze.kafka_records from which refine makes these events."""
    medium = F.element_at(
        F.create_map(*(F.lit(text) for pair in _MEDIUMS.items() for text in pair)), "channel"
    )
    bought = F.struct("order_id", F.col("value").cast("string").alias("total"), "currency")
    message = F.struct(
        F.col("event_id").alias("messageId"),
        "type",
        F.col("goal").alias("event"),
        F.col("visitor_id").alias("anonymousId"),
        F.date_format("event_time", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX").alias("originalTimestamp"),
        F.struct(F.struct("url").alias("page"), F.struct(medium.alias("medium")).alias("campaign")).alias(
            "context"
        ),
        F.when(F.col("goal").isNotNull(), bought).alias("properties"),
    )
    places = {"topic": F.lit("events"), "partition": F.lit(0), "timestamp": F.col("event_time")}
    rows = events.select(
        F.monotonically_increasing_id().alias("offset"),
        F.to_json(message).cast("binary").alias("value"),
        F.col("visitor_id").cast("binary").alias("key"),
        "event_time",
        "ingested_at",
    )
    rows = rows.withColumns(places).drop("event_time")
    missing = {c.name: F.lit(None).cast(c.type) for c in KAFKA_RECORDS.columns if c.name not in rows.columns}
    return rows.withColumns(missing)


def _uid(kind: str, number: Column) -> Column:
    return F.concat(F.lit(kind), F.hex(F.xxhash64(number, F.lit(kind)))).alias("event_id")


def _visitor(number: Column) -> Column:
    return F.lower(F.concat(*(F.hex(F.xxhash64(number, F.lit(seed))) for seed in (1, 2)))).alias("visitor_id")


def _page(number: Column) -> list[Column]:
    channel = F.get(F.array(*map(F.lit, _CHANNELS)), F.pmod(F.xxhash64(number), F.lit(len(_CHANNELS))))
    columns = {
        "type": F.lit("page"),
        "role": F.lit("page_view"),
        "channel": channel,
        "url": F.concat(F.lit("https://shop.example/product/"), (number % 5_000).cast("string")),
    }
    return [column.alias(name) for name, column in columns.items()]


def _order(number: Column) -> list[Column]:
    columns = {
        "type": F.lit("track"),
        "role": F.lit("goal"),
        "channel": F.lit("Direct"),
        "goal": F.lit("Order Completed"),
        "order_id": F.hex(F.xxhash64(number, F.lit("order"))),
        "value": F.lit(19.9).cast("decimal(18,4)"),
        "currency": F.lit("EUR"),
    }
    return [column.alias(name) for name, column in columns.items()]


def _complete(rows: DataFrame, stamp: datetime) -> DataFrame:
    known = {
        "event_time": F.col("at"),
        "ingested_at": F.lit(stamp),
        "event_hash": F.xxhash64("event_id"),
    }
    timed = rows.withColumns(known).drop("at")
    missing = {c.name: F.lit(None).cast(c.type) for c in EVENTS.columns if c.name not in timed.columns}
    return timed.withColumns(missing).select(*EVENTS.column_names)
