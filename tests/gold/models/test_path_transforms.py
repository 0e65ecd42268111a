"""Channel paths counted by Spark against an oracle of plain loops, and hand-worked cases."""

from collections import defaultdict
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gold.models.channel_paths import find_paths
from kit.frames import frame_of
from kit.oracle_paths import Conversion, Ends, Touch, World
from kit.worlds import REFUND, WATERMARK, frames_of, make_world

DAY = timedelta(days=1)
MARCH = datetime(2026, 3, 1, tzinfo=timezone.utc)
OF_MARCH = (MARCH, MARCH + 31 * DAY)
LAST = (WATERMARK - 30 * DAY, WATERMARK)
Found = dict[tuple[datetime, datetime], dict[tuple[str, ...], Ends]]


def found_in(spark: SparkSession, world: World, zone: str = "UTC", watermark: datetime = WATERMARK) -> Found:
    frames = frames_of(spark, world)
    conversions = frames["gold.conversions"].where(F.col("goal") != REFUND)
    touches, identities = frames["gold.touches"], frames["silver.identities"]
    paths = find_paths(touches, conversions, identities, zone, watermark, 30 * DAY)
    found: Found = {}
    for row in paths.collect():
        start, end = (at.replace(tzinfo=timezone.utc) for at in (row.period_start, row.period_end))
        ways = found.setdefault((start, end), {})
        assert tuple(row.channels) not in ways
        ways[tuple(row.channels)] = Ends(row.conversions, row.value, row.nulls)
    return found


@pytest.mark.parametrize(
    ("number", "zone"),
    [
        pytest.param(0, "UTC", marks=pytest.mark.long),
        (1, "Europe/Berlin"),
        pytest.param(2, "America/St_Johns", marks=pytest.mark.long),
    ],
)
def test_spark_paths_match_oracle(spark: SparkSession, number: int, zone: str) -> None:
    world = make_world(number)
    wanted = world.paths(zone, WATERMARK)
    assert len(wanted) > 3
    assert any(len(way) > 2 for ways in wanted.values() for way in ways)
    assert found_in(spark, world, zone) == wanted


def one_visitor(*steps: tuple[timedelta, str], since: datetime = MARCH) -> World:
    """One visitor's touches, by channel, and conversions, written as `!`, each some time after `since`."""
    world = World()
    for number, (after, what) in enumerate(steps):
        if what == "!":
            world.conversions.append(Conversion(since + after, f"c{number}", "v", Decimal(1)))
        else:
            world.touches.append(Touch(since + after, f"t{number}", "v", what))
    return world


def converting(*ways: str) -> dict[tuple[str, ...], Ends]:
    return ends(1, Decimal(1), 0, *ways)


def not_converting(*ways: str) -> dict[tuple[str, ...], Ends]:
    return ends(0, Decimal(0), 1, *ways)


def ends(conversions: int, value: Decimal, nulls: int, *ways: str) -> dict[tuple[str, ...], Ends]:
    return {tuple(way.split()): Ends(conversions, value, nulls) for way in ways}


CASES: dict[str, tuple[World, dict[tuple[str, ...], Ends]]] = {
    "a path starts after the conversion before": (
        one_visitor((DAY, "a"), (2 * DAY, "!"), (3 * DAY, "b"), (4 * DAY, "!")),
        converting("a", "b"),
    ),
    "a touch at the time of a conversion belongs to it": (
        one_visitor((DAY, "a"), (2 * DAY, "b"), (2 * DAY, "!"), (3 * DAY, "c")),
        {**converting("a b"), **not_converting("c")},
    ),
    "of two conversions at one time the first has the touches": (
        one_visitor((DAY, "a"), (2 * DAY, "!"), (2 * DAY, "!")),
        converting("a", "Direct"),
    ),
    "a touch 30 days back is on the path, an earlier one is not": (
        one_visitor(
            (timedelta(0), "a"), (timedelta(microseconds=1), "b"), (30 * DAY + timedelta(microseconds=1), "!")
        ),
        {**converting("b"), **not_converting("a")},
    ),
    "touches before the look-back and after the conversion are two null paths": (
        one_visitor((timedelta(0), "a"), (timedelta(hours=1), "b"), (30.5 * DAY, "!"), (30.6 * DAY, "c")),
        {**converting("Direct"), **not_converting("a b", "c")},
    ),
    "touches of the month before are on the path, and no null path of this month": (
        one_visitor((-2 * DAY, "a"), (DAY, "b"), (2 * DAY, "!")),
        converting("a b"),
    ),
    "a repeated channel is kept twice": (one_visitor((DAY, "a"), (2 * DAY, "a")), not_converting("a a")),
}


def test_paths_of_spark_and_oracle_match_hand_worked_cases(spark: SparkSession) -> None:
    worlds, wanted = World(), defaultdict[tuple[str, ...], Ends](Ends)
    for number, (world, on_paper) in enumerate(CASES.values()):
        for touch in world.touches:
            worlds.touches.append(touch._replace(visitor_id=f"v{number}", channel=f"{number}{touch.channel}"))
        for conversion in world.conversions:
            named = f"{conversion.conversion_id}-{number}"
            worlds.conversions.append(conversion._replace(conversion_id=named, visitor_id=f"v{number}"))
        for way, case in on_paper.items():
            total = wanted[tuple(step if step == "Direct" else f"{number}{step}" for step in way)]
            total.conversions += case.conversions
            total.value += case.value
            total.nulls += case.nulls
    watermark = MARCH + 40 * DAY
    assert worlds.paths("UTC", watermark)[OF_MARCH] == wanted, "the oracle"
    assert found_in(spark, worlds, watermark=watermark)[OF_MARCH] == wanted


def test_touch_converting_next_month_is_null_path_of_its_own_month(spark: SparkSession) -> None:
    found = found_in(spark, one_visitor((-DAY, "a"), (DAY, "!")))
    february = (datetime(2026, 2, 1, tzinfo=timezone.utc), MARCH)
    assert found == {february: not_converting("a"), OF_MARCH: converting("a"), LAST: converting("a")}


def test_month_has_paths_once_watermark_reaches_it(spark: SparkSession) -> None:
    world = one_visitor((-DAY, "a"), (timedelta(minutes=5), "b"))
    before: Any = found_in(spark, world, watermark=MARCH - timedelta(microseconds=1))
    assert OF_MARCH not in before
    assert found_in(spark, world, watermark=MARCH)[OF_MARCH] == not_converting("b")


def test_month_equal_to_last_30_days_is_one_period(spark: SparkSession) -> None:
    april = datetime(2026, 4, 1, tzinfo=timezone.utc)
    found = found_in(spark, one_visitor((DAY, "a"), since=april), watermark=april + 30 * DAY)
    assert found == {(april, april + 30 * DAY): not_converting("a")}


def test_no_touches_and_no_conversions_give_no_paths(spark: SparkSession) -> None:
    assert found_in(spark, World()) == {}


def test_views_are_path_steps_if_enabled_and_clicks_without_credit_never(spark: SparkSession) -> None:
    """One impression before two visits is one step, at the time of the impression."""
    view = {"event_id": "seen", "at": MARCH, "channel": "Display"}
    of_visits = (("a", 1, "Email", True), ("b", 2, "Direct", None), ("c", 3, "On-site", False))
    visits = [
        {
            "touch_id": name,
            "visitor_id": "v",
            "touched_at": MARCH + hours * timedelta(hours=1),
            "channel": channel,
            "view": view,
            "earns_credit": earns,
        }
        for name, hours, channel, earns in of_visits
    ]
    touches = frame_of(spark, "gold.touches", visits)
    goal = {"conversion_id": "o", "visitor_id": "v", "goal": "Order", "converted_at": MARCH + DAY}
    others = (
        frame_of(spark, "gold.conversions", [{**goal, "reporting_value": Decimal(1)}]),
        frame_of(spark, "silver.identities", []),
    )
    for view_through, wanted in ((False, ["Email", "Direct"]), (True, ["Display", "Email", "Direct"])):
        found = find_paths(touches, *others, "UTC", WATERMARK, 30 * DAY, view_through)
        paths = found.where("conversions > 0").collect()
        assert {tuple(path.channels) for path in paths} == {tuple(wanted)}
