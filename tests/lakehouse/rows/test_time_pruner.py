"""Time ranges for pruning stay within what a datetime can hold."""

from datetime import timedelta

import pytest

from lakehouse.rows.time_pruner import DAY, HOUR, TimePruner
from lakehouse.timestamps import FIRST, LAST, from_micros, span_micros, to_micros

FAR = 1_770_000_000_000_000_000  # the year 58,058
NOW = to_micros(FIRST) + span_micros(timedelta(days=700_000))


@pytest.mark.parametrize(
    ("span", "clipped"),
    [
        ((NOW, FAR), (from_micros(NOW), LAST)),
        ((-FAR, NOW), (FIRST, from_micros(NOW))),
        ((FAR, FAR), (LAST, LAST)),
        ((-FAR, -FAR), (FIRST, FIRST)),
    ],
)
def test_ranges_are_clipped_at_both_ends(span: tuple[int, int], clipped: tuple[object, object]) -> None:
    assert TimePruner([span])._intervals() == [clipped]
    assert len(TimePruner.of_spans([span], margin=DAY).in_days()._intervals()) == 1


def test_hours_of_far_times_are_clipped() -> None:
    hour = FAR // span_micros(HOUR)
    assert TimePruner.of_hours([(hour, hour)])._intervals() == [(LAST, LAST)]
    assert TimePruner.of_hours([(-hour, 0)])._intervals()[0][0] == FIRST
