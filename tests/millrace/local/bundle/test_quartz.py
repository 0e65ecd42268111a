"""Quartz expressions against a clock that is checked minute by minute."""

from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lakehouse.errors import MillraceError
from millrace.local.bundle.quartz import quartz_trigger


def hour_and_minute(at: datetime) -> tuple[int, int]:
    return at.hour, at.minute


UTC = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 2, 28, 22, 0, tzinfo=UTC)  # the last day of a month


def fires(expression: str, zone: str, start: datetime, number: int = 5) -> list[datetime]:
    trigger, found, after = quartz_trigger(expression, zone), list[datetime](), start
    while len(found) < number:
        at = trigger.get_next_fire_time(None, after)
        assert at is not None
        found.append(at.astimezone(UTC))
        after = at + timedelta(seconds=1)
    return found


def expected(holds: Callable[[datetime], bool], start: datetime, number: int = 5) -> list[datetime]:
    found, at = list[datetime](), start
    while len(found) < number:
        if holds(at):
            found.append(at)
        at += timedelta(minutes=1)
    return found


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("0 * * * * ?", lambda at: True),
        ("0 40 * * * ?", lambda at: at.minute == 40),
        ("0 5/20 * * * ?", lambda at: at.minute in (5, 25, 45)),
        ("0 0 3 * * ?", lambda at: hour_and_minute(at) == (3, 0)),
        ("0 0 0/6 * * ?", lambda at: at.hour % 6 == 0 and at.minute == 0),
        ("0 0 12 ? * 1", lambda at: (at.isoweekday(), at.hour, at.minute) == (7, 12, 0)),
        ("0 0 12 ? * 2-6", lambda at: at.isoweekday() <= 5 and hour_and_minute(at) == (12, 0)),
        (
            "0 0 12 ? * FRI-MON",
            lambda at: at.isoweekday() in (5, 6, 7, 1) and hour_and_minute(at) == (12, 0),
        ),
        ("0 0 12 ? * MON,7", lambda at: at.isoweekday() in (1, 6) and hour_and_minute(at) == (12, 0)),
        ("0 0 23 L * ?", lambda at: (at + timedelta(days=1)).day == 1 and hour_and_minute(at) == (23, 0)),
        ("0 0 1 ? * 2#1", lambda at: at.isoweekday() == 1 and at.day <= 7 and hour_and_minute(at) == (1, 0)),
        (
            "0 0 1 ? * 6L",
            lambda at: (
                at.isoweekday() == 5 and (at + timedelta(days=7)).day <= 7 and hour_and_minute(at) == (1, 0)
            ),
        ),
        (
            "0 15 10 1,15 1-3 ? 2026-2027",
            lambda at: at.day in (1, 15) and at.month <= 3 and hour_and_minute(at) == (10, 15),
        ),
    ],
)
def test_schedule_starts_at_cron_time(expression: str, holds: Callable[[datetime], bool]) -> None:
    number = 2 if expression.split()[3:6] != ["*", "*", "?"] else 5
    assert fires(expression, "UTC", SATURDAY, number) == expected(holds, SATURDAY, number)


def test_schedule_starts_at_seconds_of_expression() -> None:
    reported = fires("10/20 * * * * ?", "UTC", SATURDAY, 4)
    assert [at.second for at in reported] == [10, 30, 50, 10]


def test_schedule_follows_time_zone_across_daylight_saving_change() -> None:
    reported = fires("0 30 3 * * ?", "Europe/Berlin", datetime(2026, 3, 27, 12, tzinfo=UTC), 3)
    assert [at.hour for at in reported] == [2, 1, 1]  # daylight saving time starts on the 29th
    assert [at.astimezone(BERLIN).hour for at in reported] == [3, 3, 3]


@pytest.mark.parametrize(
    "expression",
    [
        "* * * * *",
        "0 0 3 * * *",
        "0 0 3 ? * ?",
        "0 61 3 * * ?",
        "0 0 3 15W * ?",
        "0 0 3 LW * ?",
        "0 0 3 L-3 * ?",
        "0 0 3 ? * 8",
        "0 0 3 ? * 2#6",
        "every day",
    ],
)
def test_invalid_schedule_is_rejected(expression: str) -> None:
    with pytest.raises(MillraceError, match="can't be read"):
        quartz_trigger(expression, "UTC")


def test_unknown_time_zone_is_rejected() -> None:
    with pytest.raises(MillraceError, match="Middle/Earth"):
        quartz_trigger("0 0 3 * * ?", "Middle/Earth")
