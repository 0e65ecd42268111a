"""Times per stage against a naive computation, record by record."""

import math
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from kit.warehouse_builder import append_rows, schema_of
from lakehouse.settings import load_settings
from lakehouse.timestamps import to_micros
from millrace.tables.read_stage_times import read_stage_times
from millrace.tables.stage_times import (
    EVENT_COLUMNS,
    LEDGER_COLUMNS,
    MAX_RECORDS,
    RECORD_COLUMNS,
    SPAN,
    STAGES,
    TO_GOLD,
    recent_span,
    stage_times,
)

START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NOW = START + timedelta(hours=3)
JOBS = ("ingest", "refine", "publish")
Row = dict[str, Any]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def frame(table: str, columns: tuple[str, ...], rows: list[Row]) -> pl.DataFrame:
    schema = schema_of(table)
    return pl.DataFrame(rows, {name: schema[name] for name in columns})


def ledger_frame(rows: list[Row]) -> pl.DataFrame:
    return frame("ops.ledger", LEDGER_COLUMNS, rows)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Row], list[Row], list[Row], list[tuple[datetime, datetime]]]:
    ledger: list[Row] = []
    records: list[Row] = []
    events: list[Row] = []
    stamps = sorted(draw(st.sets(st.integers(0, 600), min_size=1, max_size=6)))
    for stamp in stamps:
        for _ in range(draw(st.integers(1, 4))):
            place = {"topic": "events", "partition": 0, "offset": len(records)}
            node = {"key": draw(st.sampled_from(["node", "manifest"])), "value": b"n"}
            headers = draw(st.sampled_from([None, [], [node]]))
            sent = at(stamp - draw(st.floats(-1, 100)))
            records.append({**place, "timestamp": sent, "headers": headers, "ingested_at": at(stamp)})
            if draw(st.booleans()):
                events.append({**place, "arrival_time": sent - timedelta(seconds=draw(st.floats(-1, 9)))})
    for job in JOBS:
        done = stamps if job == "ingest" else sorted(draw(st.sets(st.sampled_from(stamps))))
        for stamp in done:
            began, took = at(stamp + draw(st.integers(0, 30))), draw(st.floats(0, 60))
            counts = {"started_at": began, "seconds": took, "input_rows": 1}
            ledger.append({"job": job, "position": at(stamp), **counts})
    shown = [(at(stamp), at(stamp + 90)) for stamp in draw(st.sets(st.sampled_from(stamps)))]
    return ledger, records, events, shown


def naive(
    ledger: list[Row], records: list[Row], events: list[Row], shown: list[tuple[datetime, datetime]]
) -> dict[str, list[float]]:
    """Seconds of each record in each stage."""
    arrivals = {event["offset"]: event["arrival_time"] for event in events}
    found: dict[str, list[float]] = {stage: [] for stage in (*STAGES, TO_GOLD)}

    def add(stage: str, since: datetime | None, until: datetime | None) -> None:
        if since is not None and until is not None:
            found[stage].append(max((until - since).total_seconds(), 0))

    for record in records:
        stamp, ends = record["ingested_at"], {}
        for job in JOBS:
            done = [row for row in ledger if row["job"] == job and row["position"] >= stamp]
            first = min(done, key=lambda row: row["position"], default=None)
            ends[job] = first and first["started_at"] + timedelta(seconds=first["seconds"])
        visible = min((pair for pair in shown if pair[0] >= stamp), default=(None, None))[1]
        by_collector = any(each["key"] == "node" for each in record["headers"] or ())
        arrived = arrivals.get(record["offset"]) if by_collector else None
        add("collector", arrived, record["timestamp"])
        add("Kafka", record["timestamp"], stamp)
        add("bronze", stamp, ends["ingest"] or NOW)
        add("silver", ends["ingest"], ends["refine"] or NOW)
        add("gold", ends["refine"], ends["publish"] or NOW)
        add("page", ends["publish"], visible)
        add(TO_GOLD, arrived or record["timestamp"], ends["publish"] or NOW)
    return found


def nearest(values: list[float], share: float) -> float | None:
    ordered = sorted(values)
    return ordered[math.floor((len(ordered) - 1) * share + 0.5)] if ordered else None


@given(worlds())
def test_percentiles_are_those_of_a_naive_computation(world: Any) -> None:
    ledger, records, events, shown = world
    found = stage_times(
        ledger_frame(ledger),
        frame("bronze.kafka_records", RECORD_COLUMNS, records),
        frame("silver.events", EVENT_COLUMNS, events),
        shown,
        NOW,
    )
    expected = naive(ledger, records, events, shown)
    assert found["stage"].to_list() == [*STAGES, TO_GOLD]
    for row in found.to_dicts():
        seconds = expected[row["stage"]]
        assert row["records"] == len(seconds)
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            wanted = nearest(seconds, share)
            assert (row[name] is None) == (wanted is None)
            assert wanted is None or math.isclose(row[name], wanted, abs_tol=1e-5), (row, sorted(seconds))
    slowest = found.filter("is_slowest")["p95"].to_list()
    assert slowest == [found.filter(pl.col("stage") != TO_GOLD)["p95"].max()] * len(slowest) != []


def taken(stamp: float, rows: int) -> Row:
    return {
        "job": "ingest",
        "position": at(stamp),
        "started_at": at(stamp),
        "seconds": 1.0,
        "input_rows": rows,
    }


def test_span_is_an_hour_or_as_many_records_as_are_read() -> None:
    hour = SPAN.total_seconds()
    few = [taken(0, 5), taken(1, 5), taken(hour, 5), taken(hour + 1, 5)]
    assert recent_span(ledger_frame(few)) == (at(1), at(hour + 1))
    many = [taken(0, 1), taken(1, MAX_RECORDS - 1), taken(2, 1)]
    assert recent_span(ledger_frame(many)) == (at(1), at(2))
    assert recent_span(ledger_frame([taken(0, 1), taken(1, MAX_RECORDS + 1)])) == (at(1), at(1))
    assert recent_span(ledger_frame([taken(0, 0)])) is None


def test_home_shows_the_slowest_stage(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path)
    assert read_stage_times(settings) == []
    place = {"topic": "events", "partition": 0, "offset": 7}
    headers = [{"key": "node", "value": b"main"}]
    record = {**place, "timestamp": at(-3), "ingested_at": at(0), "headers": headers}
    append_rows(tmp_path, "bronze.kafka_records", [record])
    ends = {"ingest": 2, "refine": 42, "publish": 50}
    append_rows(
        tmp_path,
        "ops.ledger",
        [{**taken(0, 1), "job": job, "started_at": at(end - 1)} for job, end in ends.items()],
    )
    assert [row["p95"] for row in read_stage_times(settings)] == [None, 3, 2, 40, 8, None, 53]
    append_rows(tmp_path, "silver.events", [{**place, "arrival_time": at(-4), "ingested_at": at(0)}])
    append_rows(tmp_path, "gold.traffic", [{"events": 1}], upto=to_micros(at(0)))
    found = read_stage_times(settings)
    assert [row["p95"] for row in found[:5]] == [1, 3, 2, 40, 8]
    assert found[5]["p95"] > 1e6  # the commit is of now
    assert [row["stage"] for row in found if row["is_slowest"]] == ["page"]
