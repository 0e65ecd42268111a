"""Traffic metrics, computed over handmade windows."""

from datetime import datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest
from metrics import traffic
from period import DAYS, HOURS, MINUTES, chosen_period, midnight
from query_scope import Scope
from tables.polars_query import ask_frame, empty
from tables.query import Query
from tables.table_cache import Ask

from kit.warehouse_builder import schema_of

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def window(
    start: datetime, kind: str = MINUTES, length: timedelta = timedelta(minutes=1), **more: Any
) -> Any:
    ends = {"window_kind": kind, "window_start": start, "window_end": start + length}
    return {**ends, "channel": None, "events": 1, "conversions": 0, "is_complete": True, **more}


def ask_over(*rows: Any) -> Ask:
    schema = schema_of("gold.traffic")
    frame = pl.LazyFrame([{name: row.get(name) for name in schema} for row in rows], schema)

    def ask(query: Query) -> pl.DataFrame:
        return ask_frame(frame if query.table == "gold.traffic" else empty(query.table), query).collect()

    return ask


def test_extent_is_taken_from_one_minute_windows() -> None:
    far = NOON + timedelta(days=40)
    ask = ask_over(
        window(NOON),
        window(far),
        window(NOON - timedelta(hours=12), DAYS, timedelta(days=1)),
        window(far + timedelta(minutes=5), "1 hour every 5 minutes", timedelta(hours=1)),
    )
    assert traffic.extent(ask) == (NOON, far + timedelta(minutes=1))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_long_series_counts_every_day_once_across_dst_changes(zone: str) -> None:
    first = datetime(2025, 12, 24, 15, tzinfo=timezone.utc)
    days = [midnight((first + timedelta(days=number)).date(), zone) for number in range(200)]
    ask = ask_over(*(window(day, DAYS, timedelta(days=1), events=2) for day in days))
    period = chosen_period("All", days[0], days[-1] + timedelta(hours=3), zone)
    assert period.kind == DAYS
    series = traffic.series(ask, Scope(period))
    assert series["events"].sum() == 400
    assert series["start"].is_sorted()
    assert (
        series["events"].head(-1).max()
        == 2 * (period.step // timedelta(days=1))
        == series["events"].head(-1).min()
    )


def test_step_with_incomplete_window_is_early() -> None:
    rows = [window(NOON + timedelta(minutes=minute), is_complete=minute != 17) for minute in range(30)]
    end = NOON + timedelta(minutes=30)
    period = chosen_period("24 hours", end - timedelta(hours=24), end)
    assert period.step == timedelta(minutes=10)
    series = traffic.series(ask_over(*rows), Scope(period))
    assert series["events"].to_list() == [10, 10, 10]
    assert series["state"].to_list() == [traffic.COMPLETE, traffic.EARLY, traffic.COMPLETE]


def test_totals_ignore_other_window_kinds_and_channels() -> None:
    ask = ask_over(window(NOON), window(NOON, HOURS, timedelta(hours=1)), window(NOON, channel="Email"))
    scope = Scope(chosen_period("Last hour", NOON, NOON + timedelta(minutes=1)))
    assert traffic.totals(ask, scope).events == 1
    assert traffic.totals(ask, Scope(scope.period, ("Email",))).events == 1


def test_visitors_of_several_channels_are_not_summed() -> None:
    hour = timedelta(hours=1)
    rows = [
        window(NOON, "1 hour every 5 minutes", hour, visitors=4),
        window(NOON, "1 hour every 5 minutes", hour, channel="Email", visitors=3),
    ]
    ask, until = ask_over(*rows), NOON + timedelta(minutes=58)
    assert traffic.visitors_in_the_hour(ask, until, ()) == 4
    assert traffic.visitors_in_the_hour(ask, until, ("Email",)) == 3
    assert traffic.visitors_in_the_hour(ask, until, ("Direct", "Email")) is None
