"""Silver's transforms by themselves, on frames of a few rows."""

from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kit.oracle_wire import micros, parse_time
from kit.records import NOON
from silver.clock import parse_instant
from silver.rules.sessions import GAP
from silver.sessions import join_fragments, to_fragments

TICK = timedelta(microseconds=1)
TIMES = {
    "2026-03-01T12:00:00Z": micros(NOON),
    "2026-03-01t12:00:00z": micros(NOON),
    "2026-03-01T12:00:00": micros(NOON),
    "2026-03-01T12:00:00+00:00": micros(NOON),
    "2026-03-01T12:00:00-00:00": micros(NOON),
    "2026-03-01T14:00:00+02:00": micros(NOON),
    "2026-03-02T11:59:00+23:59": micros(NOON),
    "2026-02-28T12:01:00-23:59": micros(NOON),
    "2026-03-02T06:00:00+18:00": micros(NOON),
    "2026-03-02T06:01:00+18:01": micros(NOON),
    "2026-03-01T12:00:00.1Z": micros(NOON) + 100_000,
    "2026-03-01T12:00:00.000001Z": micros(NOON) + 1,
    "2026-03-01T12:00:00.0000019999999999999999999999999999999Z": micros(NOON) + 1,
    "2026-03-01T12:00:00.999999999+19:00": micros(NOON) + 999_999 - 19 * 3600 * 10**6,
    "2024-02-29T00:00:00Z": micros(datetime(2024, 2, 29, tzinfo=timezone.utc)),
    "1970-01-01T00:00:00Z": 0,
    "1969-12-31T23:00:00-01:00": 0,
    "1970-01-01T23:59:00+23:59": 0,
    "9999-12-31T23:59:59.999999Z": 253_402_300_799_999_999,
    "9999-12-31T23:59:59.9999999Z": 253_402_300_799_999_999,
    "10000-01-01T00:00:00+23:59": None,
    **dict.fromkeys(
        [
            "1969-12-31T23:59:59.999999Z",
            "1970-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "9999-12-31T23:59:59-23:59",
            "10000-01-01T00:00:00Z",
            "2026-03-01T12:00:60Z",
            "2016-12-31T23:59:60Z",
            "2026-03-01T24:00:00Z",
            "2026-02-29T12:00:00Z",
            "2026-13-01T12:00:00Z",
            "0000-01-01T00:00:00Z",
            "2026-03-01 12:00:00Z",
            "2026-03-01T12:00Z",
            "2026-03-01T12:00:00.Z",
            "2026-03-01T12:00:00,5Z",
            "2026-03-01T12:00:00+0100",
            "2026-03-01T12:00:00+24:00",
            "2026-03-01T12:00:00+01:60",
            "2026-03-01T12:00:00 Europe/Paris",
            "2026-03-01T12:00:00Z\n",
            " 2026-03-01T12:00:00Z",
            "2026-03-01",
            "1772366400",
            "now",
            "",
            "\u0662\u0660\u0662\u0666-03-01T12:00:00Z",
        ]
    ),
}


@pytest.fixture(scope="module")
def parsed(spark: SparkSession) -> dict[str, int | None]:
    frame = spark.createDataFrame([(text,) for text in TIMES], "text string").coalesce(1)
    return dict(frame.select("text", parse_instant(F.col("text"))).collect())


@pytest.mark.parametrize("text", TIMES)
def test_times(parsed: dict[str, int | None], text: str) -> None:
    assert parsed[text] == TIMES[text] == parse_time(text)


def test_sessions_part_at_exactly_the_gap(spark: SparkSession) -> None:
    times = {"together": GAP - TICK, "apart": GAP, "at once": timedelta(0)}
    rows = [
        (visitor, "page", at, f"{visitor}{number}", None, None, None, None, None, "Direct", "v")
        for visitor, quiet in times.items()
        for number, at in enumerate((NOON, NOON + quiet))
    ]
    columns = (
        "visitor_id string, type string, event_time timestamp, event_id string, url string, referrer string, "
        "campaign_source string, campaign_medium string, campaign_name string, channel string, "
        "rules_version string"
    )
    fragments = to_fragments(spark.createDataFrame(rows, columns).coalesce(1))
    sessions = [row.visitor_id for row in join_fragments(fragments).collect()]
    assert sorted(sessions) == ["apart", "apart", "at once", "together"]
