from collections import Counter, defaultdict
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import figures
import polars as pl
import pytest
from period import Period

from kit.sample_warehouse import Sample, sample_warehouse
from kit.warehouse_builder import schema_of

UNTIL = datetime(2019, 7, 4, 9, 41, tzinfo=timezone.utc)
SIX_HOURS = Period(UNTIL - timedelta(hours=6, minutes=1), UNTIL - timedelta(minutes=1))


@pytest.fixture(scope="module")
def sample() -> Sample:
    return sample_warehouse(UNTIL, hours=12, visits=600)


def frame(sample: Sample, name: str) -> pl.LazyFrame:
    schema = schema_of(name)
    return pl.LazyFrame([{key: row.get(key) for key in schema} for row in sample.tables[name]], schema)


def within(instant: datetime) -> bool:
    return SIX_HOURS.start <= instant < SIX_HOURS.end


def test_totals_are_those_of_a_count_over_the_events(sample: Sample) -> None:
    events = [event for event in sample.tables["silver.events"] if within(event["event_time"])]
    converted = [row for row in sample.tables["gold.conversions"] if within(row["converted_at"])]
    values = [row["reporting_value"] for row in converted]
    traffic, sessions, conversions = (
        frame(sample, name) for name in ("gold.traffic", "silver.sessions", "gold.conversions")
    )
    assert figures.totals(traffic, sessions, conversions, SIX_HOURS) == figures.Totals(
        events=len(events),
        visitors=len({event["visitor_id"] for event in events}),
        sessions=sum(within(row["started_at"]) for row in sample.tables["silver.sessions"]),
        conversions=len(converted),
        reporting_value=float(sum(filter(None, values), Decimal(0))),
        without_rate=values.count(None),
    )


def test_a_series_adds_up_and_its_last_steps_are_early(sample: Sample) -> None:
    series = figures.series(frame(sample, "gold.traffic"), SIX_HOURS, timedelta(minutes=5))
    counted = Counter(
        event["event_time"].replace(minute=event["event_time"].minute // 5 * 5, second=0, microsecond=0)
        for event in sample.tables["silver.events"]
        if within(event["event_time"])
    )
    assert dict(series.select("start", "events").iter_rows()) == dict(counted)
    early = series.filter(state=figures.EARLY)
    assert not early.is_empty()
    assert all(end > sample.watermark for end in early["end"])
    assert all(end <= sample.watermark for end in series.filter(state=figures.COMPLETE)["end"])


def test_windows_of_other_kinds_and_channels_are_not_counted_twice(sample: Sample) -> None:
    traffic = frame(sample, "gold.traffic")
    hours = traffic.with_columns(window_kind=pl.lit("1 hour"))
    channels = traffic.with_columns(channel=pl.lit("Email"))
    step = timedelta(minutes=5)
    more = figures.series(pl.concat([traffic, hours, channels]), SIX_HOURS, step)
    assert more.equals(figures.series(traffic, SIX_HOURS, step))


def test_sessions_by_channel_are_counted_by_start(sample: Sample) -> None:
    counted = Counter(r["channel"] for r in sample.tables["silver.sessions"] if within(r["started_at"]))
    shown = figures.sessions_by_channel(frame(sample, "silver.sessions"), SIX_HOURS)
    assert dict(shown.iter_rows()) == dict(counted)
    assert shown["sessions"].is_sorted(descending=True)


@pytest.mark.parametrize("grouping", ["campaign", "channel"])
def test_credits_add_up_by_label_and_model(sample: Sample, grouping: str) -> None:
    credit: dict[tuple[str, str], float] = defaultdict(float)
    value: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in sample.tables["gold.attribution"]:
        if within(row["converted_at"]):
            campaign = row["campaign_name"] or f"no campaign · {row['channel']}"
            key = (campaign if grouping == "campaign" else row["channel"], row["model"])
            credit[key] += row["credit"]
            value[key] += row["credited_reporting_value"] or 0
    shown = figures.credited(frame(sample, "gold.attribution"), SIX_HOURS, grouping)
    assert {(r["label"], r["model"]): r["conversions"] for r in shown.to_dicts()} == pytest.approx(credit)
    assert {(r["label"], r["model"]): r["reporting_value"] for r in shown.to_dicts()} == pytest.approx(
        {key: float(total) for key, total in value.items()}
    )


def test_sessions_speak_as_long_as_gold_is_empty(sample: Sample) -> None:
    nothing = pl.LazyFrame(schema=schema_of("gold.traffic"))
    first, last = figures.extent(nothing, frame(sample, "silver.sessions")) or (None, None)
    assert first == min(r["started_at"] for r in sample.tables["silver.sessions"]).replace(
        second=0, microsecond=0
    )
    latest = max(r["ended_at"] for r in sample.tables["silver.sessions"])
    assert last is not None
    assert last - timedelta(minutes=1) <= latest < last


def test_text_is_one_line_of_a_decent_length_in_one_direction() -> None:
    odd = ["a\nb\tc\x00", "\u202edrow", "x" * 10_000, None, "é" * 200]
    assert pl.DataFrame({"text": odd}).select(figures.plain("text"))["text"].to_list() == [
        "a b c ",
        " drow",
        "x" * 200 + "…",
        None,
        "é" * 200,
    ]
