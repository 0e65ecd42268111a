"""Months of visits for the benchmark of attribution, and micro-batches that follow it, made inside Spark.

Each visitor comes five times in a month, six days apart. One visit in twenty ends in an order.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.timestamps import EPOCH
from silver.visits.visitor_fold import fold_rows

END = datetime(2026, 11, 1, tzinfo=timezone.utc)
MONTH = timedelta(days=30)
VISITS = 5  # of a visitor, in the month
BATCH = 20_000  # events of a micro-batch
_OF_A_VISIT = 5  # events
_ORDERS = 20  # one visit in so many
_LATE = 50  # one event in so many
LATEST = timedelta(days=2)  # how late at most, as in the sample traffic
_CHANNELS = ("Organic Search", "Email", "Paid Search", "Direct")


def stamp_of(batch: int) -> datetime:
    """The ingest stamp of a micro-batch; the month itself is number 0."""
    return END + batch * timedelta(minutes=1)


@dataclass(frozen=True)
class History:
    """So many visits, evenly over one month or more; each begins a session and is a touch.

    Args:
        spark: a session.
        visits: how many.
        latest: how far back late events of the micro-batches lie.
        months: how many.
    """

    spark: SparkSession
    visits: int
    latest: timedelta = LATEST
    months: int = 1

    @property
    def visitors(self) -> int:
        """How many there are."""
        return self.visits // self.months // VISITS

    def events(self) -> DataFrame:
        """silver.events: a page view a visit, and orders ten minutes after it."""
        number = F.col("id")
        span = self.months * MONTH
        seconds = (number * int(span.total_seconds()) / self.visits).cast("bigint")
        at = F.timestamp_seconds(seconds + int((END - span).timestamp()))
        visits = self.spark.range(self.visits).withColumn("at", at)
        orders = visits.where(number % _ORDERS == 0).withColumn(
            "at", F.col("at") + F.lit(timedelta(minutes=10))
        )
        visitor = _visitor(number % self.visitors)
        rows = visits.select(_uid("p", number), visitor, "at", *_page(number)).unionByName(
            orders.select(_uid("o", number), visitor, "at", *_order(number)), allowMissingColumns=True
        )
        return _complete(rows, stamp_of(0))

    def batch(self, number: int) -> DataFrame:
        """silver.events of a micro-batch: visits of five events, some of them late, orders."""
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


def sessions_of(events: DataFrame, is_open: bool) -> DataFrame:
    """silver.sessions that events make up by themselves."""
    watermark = EPOCH if is_open else END + timedelta(days=10_000)
    return fold_rows(events, SESSIONS, VisitorRules.of(RuleNumbers()), watermark)


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
    timed = rows.withColumns({"event_time": F.col("at"), "ingested_at": F.lit(stamp)}).drop("at")
    missing = {c.name: F.lit(None).cast(c.type) for c in EVENTS.columns if c.name not in timed.columns}
    return timed.withColumns(missing).select(*EVENTS.column_names)
