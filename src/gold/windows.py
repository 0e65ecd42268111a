"""Windows of time: which there are, what changes in them, and which pane they are in."""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.minutes import COUNTS

_SUMS = ("visitors", *COUNTS, "value")
_KEY = ("window_kind", "window_start", "window_end", "channel")
_HOP = timedelta(minutes=5)
_HOUR = timedelta(hours=1)
LONGEST = timedelta(hours=26)  # a day on which clocks go back, and an hour


def windows_of(minute: Column, zone: str) -> Column:
    """The windows that a minute is in: an array of kind, start and end.

    Args:
        minute: starts of minutes.
        zone: the time zone that days go by.
    """
    hour = F.date_trunc("hour", minute)
    last_hop = minute - F.make_dt_interval(mins=F.minute(minute) % (_HOP // timedelta(minutes=1)))
    hops = [last_hop - F.lit(_HOP * back) for back in range(_HOUR // _HOP)]
    day = F.date_trunc("day", F.from_utc_timestamp(minute, zone))
    return F.array(
        _window("1 minute", minute, minute + F.lit(timedelta(minutes=1))),
        _window("1 hour", hour, hour + F.lit(_HOUR)),
        _window(
            "1 day",
            F.to_utc_timestamp(day, zone),
            F.to_utc_timestamp(F.date_trunc("day", day + F.expr("INTERVAL 1 DAY")), zone),
        ),
        *(_window("1 hour every 5 minutes", hop, hop + F.lit(_HOUR)) for hop in hops),
    )


def _window(kind: str, start: Column, end: Column) -> Column:
    return F.struct(F.lit(kind).alias("kind"), start.alias("start"), end.alias("end"))


def change_windows(minutes: DataFrame, zone: str) -> DataFrame:
    """What new minutes change in the windows that they are in.

    A visitor is one more in a window where the new minutes are the first, and one less where they take the
    last event away. So each visitor is counted once, however windows are put together.

    Args:
        minutes: gold.visitor_minutes with `is_new`, of the visitors that have new ones: all that share a
            window with a new one.
        zone: the time zone that days go by.

    Returns:
        window_kind, window_start, window_end, channel (null: all), visitors and the sums, as differences.
    """
    windows = minutes.select("*", F.explode(windows_of(F.col("minute"), zone)).alias("w"))
    channels = F.explode(F.array_distinct(F.array(F.lit(None).cast("string"), F.col("channel"))))
    cells = windows.withColumn("_channel", channels)
    new = F.col("is_new")
    by_visitor = cells.groupBy("w", "_channel", "visitor_id").agg(
        F.max(new).alias("is_new"),
        F.sum("events").alias("_after"),
        F.coalesce(F.sum(F.when(~new, F.col("events"))), F.lit(0)).alias("_before"),
        *(F.sum(F.when(new, F.col(name))).alias(name) for name in (*COUNTS, "value")),
    )
    more = F.sum((F.col("_after") > 0).cast("bigint") - (F.col("_before") > 0).cast("bigint"))
    return (
        by_visitor.where("is_new")
        .groupBy(
            *(F.col(f"w.{name}").alias(f"window_{name}") for name in ("kind", "start", "end")), "_channel"
        )
        .agg(more.alias("visitors"), *(F.sum(name).alias(name) for name in (*COUNTS, "value")))
        .withColumnRenamed("_channel", "channel")
    )


def subtract_windows(windows: DataFrame, standing: DataFrame) -> DataFrame:
    """What is to change in gold.traffic for it to be these windows.

    Args:
        windows: as `change_windows` gives them, of all minutes.
        standing: gold.traffic.
    """
    less = standing.select(*_KEY, *((-F.col(name)).alias(name) for name in _SUMS))
    return windows.select(*_KEY, *_SUMS).unionByName(less)


def revise_windows(standing: DataFrame, differences: DataFrame, watermark: datetime) -> DataFrame:
    """The windows that change, as they are then.

    Args:
        standing: gold.traffic rows that differ, or are complete by now and say that they aren't.
        differences: as `change_windows` gives them; several of one window add up.
        watermark: how far the results are complete.

    Returns:
        gold.traffic, with `_before`, the row as it stood (null: there was none), and `_gone`: nothing is left
        in it. Its pane is `early` before the watermark has passed the window's end, `on_time` at the first
        emission after, `late` for each revision that changes something later.
    """
    row = F.struct(*standing.columns)
    before = standing.select(*_KEY, *_SUMS, row.alias("_before"))
    none = F.lit(None).cast(before.schema["_before"].dataType)
    both = before.unionByName(differences.select(*_KEY, *_SUMS, none.alias("_before")))
    sums = both.groupBy(*_KEY).agg(
        F.first("_before", ignorenulls=True).alias("_before"), *(F.sum(name).alias(name) for name in _SUMS)
    )
    old = F.struct(*(F.col(f"_before.{name}") for name in _SUMS))
    changed = ~F.struct(*_SUMS).eqNullSafe(old) | F.col("_before").isNull()
    rows = sums.withColumns(
        {"is_complete": F.col("window_end") <= F.lit(watermark), "_changed": changed}
    ).withColumns(
        {
            "reporting_value": F.col("value").try_cast("decimal(18,4)"),
            "value": F.col("value").cast("decimal(38,4)"),
            "pane": _pane(),
            "revision": _revision(),
            "_gone": F.col("events") == 0,
        }
    )
    as_it_stood = ~F.col("_changed") & (F.col("is_complete") == F.col("_before.is_complete"))
    never = F.col("_gone") & F.col("_before").isNull()
    return rows.where(~as_it_stood & ~never).drop("_changed")


def _pane() -> Column:
    return (
        F.when(~F.col("is_complete"), "early")
        .when(F.coalesce("_before.pane", F.lit("early")) == "early", "on_time")
        .when(F.col("_changed"), "late")
        .otherwise(F.col("_before.pane"))
    )


def _revision() -> Column:
    before = F.col("_before.revision")
    return F.when(before.isNull(), 0).when(F.col("_changed"), before + 1).otherwise(before).cast("int")
