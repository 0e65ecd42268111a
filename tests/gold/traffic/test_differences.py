"""Differences of windows by the fold and in Spark, against a naive count."""

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from folds.windows.time_windows import DayWindows, TimeWindows
from folds.windows.window_rules import STANDARD, windows_of
from kit.window_minutes import VisitorMinute, differences_in_spark, differences_of, naive_differences
from lakehouse.run.batch_settings import BatchSettings

MINUTE, DAY = 60_000_000, 86_400_000_000
ZONES = ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns")
START = 1_774_742_400_000_000  # 2026-03-29T00:00Z: clocks in Berlin go forward an hour later
PLANNED = st.one_of(st.sampled_from([-1, 0, 4, 5, 59, 60, 61, 1439, 1440]), st.integers(-3000, 3000))
ROWS = st.lists(
    st.builds(
        VisitorMinute,
        st.sampled_from(["ann", "ben", "cid"]),
        PLANNED.map(lambda number: START + number * MINUTE),
        st.sampled_from([None, "Direct", "Email"]),
        st.integers(-2, 3),
        st.decimals(-9, 9, places=4),
        st.booleans(),
    ),
    max_size=40,
)


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session for small queries."""
    found = spark.newSession()
    BatchSettings(found).choose(0)
    return found


@settings(max_examples=100)
@given(rows=ROWS, share=st.floats(0, 1), zone=st.sampled_from(ZONES))
def test_fold_matches_naive_count(rows: Sequence[VisitorMinute], share: float, zone: str) -> None:
    known, windows = int(len(rows) * share), windows_of(STANDARD, zone)
    assert differences_of(rows, known, windows) == naive_differences(rows, known, windows)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, share=st.floats(0, 1), zone=st.sampled_from(ZONES))
def test_spark_matches_naive_count(
    session: SparkSession, rows: Sequence[VisitorMinute], share: float, zone: str
) -> None:
    known, windows = int(len(rows) * share), windows_of(STANDARD, zone)
    assert differences_in_spark(session, rows, known, windows) == naive_differences(rows, known, windows)


def test_minutes_before_1970_and_far_ahead_are_in_windows(session: SparkSession) -> None:
    windows = (
        TimeWindows("hopping", 10 * MINUTE, 5 * MINUTE),
        TimeWindows("24 hours", DAY, DAY),
        DayWindows("Europe/Berlin", "day"),
    )
    times = (-3 * MINUTE, -DAY, 0, 253_400_000_000_000_000)
    rows = [VisitorMinute("ann", at - at % MINUTE, "Direct", 1, Decimal(1), True) for at in times]
    assert differences_in_spark(session, rows, 0, windows) == naive_differences(rows, 0, windows)
