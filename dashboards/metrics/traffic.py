"""Figures of traffic windows: events, sessions, conversions, value."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
from period import DAYS, MINUTES, SLIDING, Period
from query_scope import Scope
from tables.query import Measure, Query, sums
from tables.table_cache import Ask

COMPLETE = "complete"
EARLY = "may still change"

_COMPARABLE = 0.05  # share of the events of a period that the one before it has at least

_COUNTED = ("events", "page_views", "sessions", "conversions", "reporting_value")
_FIVE = timedelta(minutes=5)
_INSTANT = pl.Datetime("us", "UTC")
_AROUND = timedelta(days=2)  # search range for the first and last minute: the longest window is a day


@dataclass(frozen=True)
class Totals:
    """Figures of a period; null if the role does not see them. Money is in the reporting currency."""

    events: int | None
    page_views: int | None
    sessions: int | None
    conversions: int | None
    reporting_value: float | None
    without_rate: int | None


def extent(ask: Ask) -> tuple[datetime, datetime] | None:
    """Start of the first minute with data and end of the last; None without data.

    If gold.traffic is still empty, the range comes from silver.sessions.
    """
    ends = (Measure("first", "min", "window_start"), Measure("last", "max", "window_start"))
    days = Query("gold.traffic", (), ends).only("window_kind", "=", DAYS).only("channel", "null")
    first, last = ask(days).row(0)
    if first is not None:  # search for the minute only near both ends
        ends = (Measure("first", "min", "window_start"), Measure("last", "max", "window_end"))
        minutes = Query("gold.traffic", (), ends).only("window_kind", "=", MINUTES).only("channel", "null")
        first = ask(minutes.only("window_start", "<=", first + _AROUND))["first"][0]
        last = ask(minutes.only("window_start", ">=", last - _AROUND))["last"][0]
    if first is None:
        ends = (Measure("first", "min", "started_at"), Measure("last", "max", "ended_at"))
        first, last = ask(Query("silver.sessions", (), ends)).row(0)
        if first is not None:
            first, last = _minute(first), _minute(last) + timedelta(minutes=1)
    return None if first is None else (first, last)


def totals(ask: Ask, scope: Scope) -> Totals:
    """The figures of a period."""
    windows = ask(scope.windows(Query("gold.traffic", (), sums(*_COUNTED)), scope.period.kind))
    windows = windows.with_columns(pl.col("reporting_value").cast(pl.Float64))
    lacking = Query("gold.conversions", (), (Measure("lacking", "count"),))
    lacking = lacking.only("value", "not null").only("reporting_value", "null")
    without_rate = ask(scope.within(lacking, "converted_at"))["lacking"][0]
    events, views, sessions, conversions, value = windows.row(0)
    return Totals(events, views, sessions, conversions, value, without_rate)


def visitors_in_the_hour(ask: Ask, until: datetime, channels: tuple[str, ...]) -> int | None:
    """Distinct visitors in the sliding hour up to a time; None if there is no such window that is seen.

    Args:
        ask: runs queries.
        until: end of a minute.
        channels: at most one; empty for all. Distinct visitors of several channels can't be summed.
    """
    if len(channels) > 1:
        return None
    over = -(-(until.timestamp()) // _FIVE.total_seconds()) * _FIVE.total_seconds()
    end = datetime.fromtimestamp(over, until.tzinfo)
    hours = Query("gold.traffic", ("visitors",), order=("-window_end",), limit=1)
    start = end - timedelta(hours=1)
    asked = hours.only("window_kind", "=", SLIDING).within("window_start", start - 2 * _FIVE, start + _FIVE)
    asked = asked.one_of("channel", channels) if channels else asked.only("channel", "null")
    asked = Query(asked.table, ("visitors", "window_end"), (), asked.where, asked.order, 1)
    return next(iter(ask(asked)["visitors"].drop_nulls()), None)


def series(ask: Ask, scope: Scope) -> pl.DataFrame:
    """Events and conversions by time step.

    Returns:
        start, end (both UTC), events, conversions, state (`COMPLETE` if every window of the step is
        complete). Steps without events have no row.
    """
    period = scope.period
    columns = ("window_start", "events", "conversions", "is_complete")
    windows = ask(scope.windows(Query("gold.traffic", columns), period.kind))
    summed = (
        windows.group_by(start_of_step(period))
        .agg(pl.col("events", "conversions").sum(), pl.col("is_complete").all())
        .sort("start")
    )
    state = pl.when("is_complete").then(pl.lit(COMPLETE)).otherwise(pl.lit(EARLY))
    end = (pl.col("start") + period.step).alias("end")
    return summed.select("start", end, "events", "conversions", state.alias("state"))


def is_comparable(ask: Ask, scope: Scope, before: Scope) -> bool:
    """Whether the period before has a share of the events, in at least half as many time steps.

    Events of wrong clocks, which may be anywhere, and the start of the data are nothing to compare with.
    """
    now, then = series(ask, scope), series(ask, before)
    has_steps = 2 * then.height >= now.height > 0
    return has_steps and then["events"].sum() >= _COMPARABLE * now["events"].sum()


def sessions_by_channel(ask: Ask, scope: Scope) -> pl.DataFrame:
    """Sessions started in the period: channel, sessions; most first."""
    query = Query("gold.traffic", ("channel",), sums("sessions"), order=("-sessions", "channel"))
    query = query.only("window_kind", "=", scope.period.kind).only("channel", "not null")
    return ask(scope.within(query.one_of("channel", scope.channels), "window_start"))


def start_of_step(period: Period) -> pl.Expr:
    """Start of the time step that contains a window. Steps of days count from the period's first day."""
    start = pl.col("window_start")
    if period.kind != DAYS:
        return start.dt.truncate(period.step).alias("start")
    day = timedelta(days=1)
    number = (start - period.start + day / 2).dt.total_days()  # days may have 23 hours
    steps = number // (period.step // day)
    return (pl.lit(period.start, _INSTANT) + steps * period.step).alias("start")


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
