"""What the page says, computed from the tables: frames in, small frames and numbers out."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
from period import Period

MODELS = ("first", "last", "linear")
COMPLETE = "complete"
EARLY = "may still change"

_LATEST = 50  # rows of a table of the latest
_MOST_TEXT = 200  # characters: nobody reads more of a value, and events hold what they like
# Control characters, and those that turn the direction of the text around them.
_UNSEEN = r"[\p{Cc}\u{2028}\u{2029}\u{202A}-\u{202E}\u{2066}-\u{2069}]"


@dataclass(frozen=True)
class Totals:
    """The figures of a period; money is in the reporting currency."""

    events: int
    visitors: int
    sessions: int
    conversions: int
    reporting_value: float
    without_rate: int


def extent(traffic: pl.LazyFrame, sessions: pl.LazyFrame) -> tuple[datetime, datetime] | None:
    """Start of the first minute with data and end of the last; None without any.

    Sessions speak as long as traffic has nothing to say: gold follows silver.
    """
    minutes = _minutes(traffic).select(first=pl.col("window_start").min(), last=pl.col("window_end").max())
    first, last = minutes.collect().row(0)
    if first is None:
        ended = pl.col("ended_at").max().dt.truncate("1m").dt.offset_by("1m")
        first, last = sessions.select(pl.col("started_at").min().dt.truncate("1m"), ended).collect().row(0)
    return None if first is None else (first, last)


def totals(
    traffic: pl.LazyFrame, sessions: pl.LazyFrame, conversions: pl.LazyFrame, period: Period
) -> Totals:
    """The figures of a period.

    Visitors are those with a page, screen or track event in it, taken from the sessions that reach into
    it: a session's ends are events, so this is exact and far cheaper than reading the events.
    """
    windows = _within(_minutes(traffic), "window_start", period)
    summed = windows.select(pl.col("events", "conversions", "reporting_value").sum())
    reach = sessions.filter((pl.col("ended_at") >= period.start) & (pl.col("started_at") < period.end))
    started = (pl.col("started_at") >= period.start).sum().alias("started")
    worth_something = pl.col("value").is_not_null() & pl.col("reporting_value").is_null()
    without_rate = _within(conversions, "converted_at", period).select(worth_something.sum())
    events, converted, value = summed.collect().row(0)
    visitors, sessions_started = reach.select(pl.col("visitor_id").n_unique(), started).collect().row(0)
    return Totals(
        events, visitors, sessions_started, converted, float(value or 0), without_rate.collect().item()
    )


def series(traffic: pl.LazyFrame, period: Period, step: timedelta) -> pl.DataFrame:
    """Events and conversions step by step.

    Returns:
        start, end (both UTC), events, conversions, state: `COMPLETE` once every window of the step is.
        Steps without events have no row.
    """
    start = pl.col("window_start").dt.truncate(step).alias("start")
    summed = (
        _within(_minutes(traffic), "window_start", period)
        .group_by(start)
        .agg(pl.col("events", "conversions").sum(), pl.col("is_complete").all())
        .sort("start")
    )
    state = pl.when("is_complete").then(pl.lit(COMPLETE)).otherwise(pl.lit(EARLY))
    return summed.select(
        "start", (pl.col("start") + step).alias("end"), "events", "conversions", state.alias("state")
    ).collect()


def sessions_by_channel(sessions: pl.LazyFrame, period: Period) -> pl.DataFrame:
    """channel, sessions started in the period; most first."""
    return (
        _within(sessions, "started_at", period)
        .group_by(plain(pl.col("channel").fill_null("unknown")))
        .agg(sessions=pl.len())
        .sort("sessions", "channel", descending=[True, False])
        .collect()
    )


def credited(attribution: pl.LazyFrame, period: Period, grouping: str) -> pl.DataFrame:
    """What each model credits to each campaign or channel.

    Args:
        attribution: gold.attribution.
        period: when the conversions were.
        grouping: `campaign` or `channel`.

    Returns:
        label, model, conversions (sum of credit), reporting_value; the most valuable label first.
    """
    campaign = pl.coalesce("campaign_name", pl.format("no campaign · {}", "channel"))
    label = plain(campaign if grouping == "campaign" else pl.col("channel")).alias("label")
    summed = (
        _within(attribution, "converted_at", period)
        .filter(pl.col("model").is_in(MODELS))
        .group_by(label.fill_null("unknown"), "model")
        .agg(
            conversions=pl.col("credit").sum(),
            reporting_value=pl.col("credited_reporting_value").sum().cast(pl.Float64),
        )
    )
    most = pl.col("reporting_value").max().over("label")
    most_credit = pl.col("conversions").max().over("label")
    return summed.sort(most, most_credit, "label", "model", descending=[True, True, False, False]).collect()


def latest_sessions(sessions: pl.LazyFrame, period: Period) -> pl.DataFrame:
    """The sessions that started last, newest first."""
    return (
        _latest(_within(sessions, "started_at", period), "started_at", "session_id")
        .select(
            "started_at",
            plain("visitor_id"),
            plain("channel"),
            plain("campaign_name"),
            plain("entry_url"),
            "events",
            ((pl.col("ended_at") - pl.col("started_at")).dt.total_seconds() / 60).alias("minutes"),
            pl.when("is_open").then(pl.lit("open")).otherwise(pl.lit("final")).alias("state"),
        )
        .collect()
    )


def latest_conversions(conversions: pl.LazyFrame, period: Period) -> pl.DataFrame:
    """The latest conversions, newest first."""
    return (
        _latest(_within(conversions, "converted_at", period), "converted_at", "conversion_id")
        .select(
            "converted_at",
            plain("goal"),
            plain("order_id"),
            plain("person_id"),
            pl.col("value").cast(pl.Float64),
            plain("currency"),
            pl.col("reporting_value").cast(pl.Float64),
            "touches",
            pl.when("is_final").then(pl.lit("final")).otherwise(pl.lit(EARLY)).alias("state"),
        )
        .collect()
    )


def plain(column: str | pl.Expr) -> pl.Expr:
    """Text of an event, fit to be shown: one line, in one direction, not without end."""
    text = (pl.col(column) if isinstance(column, str) else column).str.replace_all(_UNSEEN, " ")
    shown = pl.format("{}…", text.str.slice(0, _MOST_TEXT))
    return pl.when(text.str.len_chars() > _MOST_TEXT).then(shown).otherwise(text)


def _minutes(traffic: pl.LazyFrame) -> pl.LazyFrame:
    return traffic.filter((pl.col("window_kind") == "1 minute") & pl.col("channel").is_null())


def _within(frame: pl.LazyFrame, column: str, period: Period) -> pl.LazyFrame:
    return frame.filter((pl.col(column) >= period.start) & (pl.col(column) < period.end))


def _latest(frame: pl.LazyFrame, time: str, tie: str) -> pl.LazyFrame:
    return frame.sort(time, tie, descending=[True, False]).head(_LATEST)
