from datetime import datetime, timedelta, timezone

import pytest
from period import CHOICES, Period, chosen_period, step_words

END = datetime(2020, 5, 17, 12, 30, tzinfo=timezone.utc)


def test_a_period_counts_back_from_the_latest_event() -> None:
    assert chosen_period("6 hours", END - timedelta(days=3), END) == Period(END - timedelta(hours=6), END)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_period_starts_no_earlier_than_the_data(choice: str) -> None:
    first = END - timedelta(minutes=5)
    assert chosen_period(choice, first, END) == Period(first, END)


@pytest.mark.parametrize("length", [timedelta(minutes=1), timedelta(hours=25), timedelta(days=365)])
def test_no_period_has_more_steps_than_can_be_seen(length: timedelta) -> None:
    period = Period(END - length, END)
    assert length / period.step <= 300


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
def test_a_step_reads_after_per(step: timedelta, words: str) -> None:
    assert step_words(step) == words
