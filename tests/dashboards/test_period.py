from datetime import date, datetime, timedelta, timezone

import pytest
from period import CHOICES, DAYS, HOURS, Period, chosen_period, midnight, step_words

DAY = timedelta(days=1)
END = datetime(2020, 5, 17, 12, 30, tzinfo=timezone.utc)


def test_period_ends_at_latest_event() -> None:
    assert chosen_period("24 hours", END - 9 * DAY, END) == Period(END - DAY, END)


@pytest.mark.parametrize("choice", CHOICES)
def test_period_starts_no_earlier_than_first_event(choice: str) -> None:
    first = END - timedelta(minutes=5)
    assert chosen_period(choice, first, END) == Period(first, END)


def test_seven_day_period_is_aligned_to_whole_hours() -> None:
    period = chosen_period("7 days", END - 90 * DAY, END)
    hour = END.replace(minute=0)
    assert period == Period(hour - 7 * DAY, hour + timedelta(hours=1), HOURS)


def test_ninety_day_period_is_aligned_to_business_days() -> None:
    period = chosen_period("All", END - 90 * DAY, END, "Europe/Berlin")
    assert period.kind == DAYS
    assert period.start == datetime(2020, 2, 16, 23, tzinfo=timezone.utc)  # in winter
    assert period.end == datetime(2020, 5, 17, 22, tzinfo=timezone.utc)  # in summer
    assert period.days == (date(2020, 2, 17), date(2020, 5, 17))


def test_chosen_dates_are_inclusive_business_days() -> None:
    period = chosen_period("Dates", END, END, "Europe/Berlin", (date(2020, 5, 3), date(2020, 5, 3)))
    assert (period.start, period.end) == (
        datetime(2020, 5, 2, 22, tzinfo=timezone.utc),
        datetime(2020, 5, 3, 22, tzinfo=timezone.utc),
    )


def test_chosen_dates_are_whole_days_where_midnight_is_on_a_half_hour() -> None:
    days = date(2020, 5, 3), date(2020, 5, 12)
    period = chosen_period("Dates", END, END, "Asia/Kolkata", days)
    assert period.days == days
    assert period == Period(
        datetime(2020, 5, 2, 18, 30, tzinfo=timezone.utc),
        datetime(2020, 5, 12, 18, 30, tzinfo=timezone.utc),
        DAYS,
        "Asia/Kolkata",
    )


@pytest.mark.parametrize(("hours", "days"), [(1, 1), (24, 1), (25, 2), (168, 7), (169, 8)])
def test_previous_period_is_shifted_by_whole_days(hours: int, days: int) -> None:
    before = Period(END - timedelta(hours=hours), END).before
    assert before == Period(END - timedelta(hours=hours) - days * DAY, END - days * DAY)


@pytest.mark.parametrize(
    ("first", "last", "earlier"),
    [
        (date(2026, 10, 20), date(2026, 12, 28), date(2026, 8, 11)),  # 70 days and an hour
        (date(2026, 11, 2), date(2027, 1, 10), date(2026, 8, 24)),
        (date(2026, 4, 10), date(2026, 6, 18), date(2026, 1, 30)),
    ],
)
def test_whole_days_are_compared_with_as_many_days_across_dst_changes(
    first: date, last: date, earlier: date
) -> None:
    period = chosen_period("Dates", END, END, "Europe/Berlin", (first, last))
    assert period.kind == DAYS
    expected = midnight(earlier, "Europe/Berlin"), midnight(first, "Europe/Berlin")
    assert period.before == Period(*expected, DAYS, "Europe/Berlin")
    assert period.before.days == (earlier, first - DAY)


@pytest.mark.parametrize("length", [timedelta(minutes=1), timedelta(hours=25), timedelta(days=365)])
def test_period_has_at_most_150_steps(length: timedelta) -> None:
    period = Period(END - length, END)
    assert length / period.step <= 150


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (timedelta(minutes=1), "minute"),
        (timedelta(minutes=5), "5 minutes"),
        (timedelta(hours=1), "hour"),
        (timedelta(hours=6), "6 hours"),
        (timedelta(days=1), "day"),
        (timedelta(days=7), "7 days"),
    ],
)
def test_step_is_worded_to_follow_the_word_per(step: timedelta, words: str) -> None:
    assert step_words(step) == words
