"""Windows of time: which there are, what changes in them, and which pane they are in."""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

COUNTS = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions")
_ADDING = (*COUNTS, "value")
_SUMS = ("visitors", *_ADDING)
_KEY = ("window_kind", "window_start", "window_end", "channel")
_OF_VISITOR = ("visitor_id", "minute", "channel")
_HOP = timedelta(minutes=5)
_HOUR = timedelta(hours=1)
LONGEST = timedelta(hours=26)  # a day on which clocks go back, and an hour


def change_windows(minutes: DataFrame, zone: str) -> DataFrame:
    """What new minutes change in the windows that they are in.

    A visitor is one more in a window where the new minutes are the first, and one less where they take the
    last event away. So each visitor is counted once, however windows are put together.

    Args:
        minutes: gold.visitor_minutes with `is_new`, of the visitors that have new ones: all that share a
            window with a new one. They are looked at more than once.
        zone: the time zone that days go by.

    Returns:
        window_kind, window_start, window_end, channel (null: all), visitors and the sums, as differences.
    """
    changes = _sum_up(minutes.where("is_new"), zone).unionByName(_count_visitors(minutes, zone))
    return changes.groupBy(*_KEY).agg(*(F.sum(name).alias(name) for name in _SUMS))


def _sum_up(minutes: DataFrame, zone: str) -> DataFrame:
    """What adds up, of each minute in each of its windows; visitors 0."""
    by_minute = minutes.groupBy("minute", "channel").agg(*(F.sum(name).alias(name) for name in _ADDING))
    windows = F.concat(_by_minute(zone), _by_hop())
    return _spread(by_minute, windows).select(*_KEY, F.lit(0).alias("visitors"), *_ADDING)


def _count_visitors(minutes: DataFrame, zone: str) -> DataFrame:
    """How many visitors more there are in each window; what adds up 0.

    All minutes of a hop are in the same hours: so there is a row to each of these for a visitor's hop, and
    not for each of its minutes.
    """
    of_visitor = minutes.select(
        "visitor_id",
        "minute",
        "channel",
        "is_new",
        F.col("events").alias("_after"),
        F.when(F.col("is_new"), 0).otherwise(F.col("events")).alias("_before"),
    )
    by_minute = _put_together(of_visitor, *_OF_VISITOR)
    by_hop = _put_together(by_minute.withColumn("minute", _hop_of("minute")), *_OF_VISITOR)
    cells = _spread(by_minute, _by_minute(zone)).unionByName(_spread(by_hop, _by_hop()))
    changed = _put_together(cells, *_KEY, "visitor_id").where("is_new")
    more = F.sum((F.col("_after") > 0).cast("bigint") - (F.col("_before") > 0).cast("bigint"))
    none = [F.lit(0).alias(name) for name in _ADDING]
    return changed.groupBy(*_KEY).agg(more.alias("visitors")).select("*", *none)


def _put_together(rows: DataFrame, *keys: str) -> DataFrame:
    """Whether any is new, and how many events there are, and were before."""
    sums = (F.sum(name).alias(name) for name in ("_after", "_before"))
    return rows.groupBy(*keys).agg(F.max("is_new").alias("is_new"), *sums)


def _spread(rows: DataFrame, windows: Column) -> DataFrame:
    """A row for each of its windows, for its channel and for all channels."""
    of_windows = rows.withColumn("_window", F.explode(windows))
    channels = F.explode(F.array_distinct(F.array(F.lit(None).cast("string"), F.col("channel"))))
    parts = {f"window_{part}": F.col(f"_window.{part}") for part in ("kind", "start", "end")}
    return of_windows.withColumn("channel", channels).withColumns(parts).drop("_window", "minute")


def _by_minute(zone: str) -> Column:
    """The windows that a minute need not share with the rest of its hop: of column `minute`, an array."""
    minute = F.col("minute")
    day = F.date_trunc("day", F.from_utc_timestamp(minute, zone))
    return F.array(
        _window("1 minute", minute, minute + F.lit(timedelta(minutes=1))),
        _window(
            "1 day",
            F.to_utc_timestamp(day, zone),
            F.to_utc_timestamp(F.date_trunc("day", day + F.expr("INTERVAL 1 DAY")), zone),
        ),
    )


def _by_hop() -> Column:
    """The windows that the minutes of a hop have in common: of column `minute`, an array."""
    hour, hop = F.date_trunc("hour", "minute"), _hop_of("minute")
    hops = [hop - F.lit(_HOP * back) for back in range(_HOUR // _HOP)]
    return F.array(
        _window("1 hour", hour, hour + F.lit(_HOUR)),
        *(_window("1 hour every 5 minutes", start, start + F.lit(_HOUR)) for start in hops),
    )


def _hop_of(minute: str) -> Column:
    """When the last sliding window began."""
    past = F.minute(minute) % (_HOP // timedelta(minutes=1))
    return (F.col(minute) - F.make_dt_interval(mins=past)).alias(minute)


def _window(kind: str, start: Column, end: Column) -> Column:
    return F.struct(F.lit(kind).alias("kind"), start.alias("start"), end.alias("end"))


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
