"""Which closed window by number of events a late minute is in."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gold.traffic.closed_windows import find_closed_windows
from gold.traffic.new_minutes import NewMinutes
from kit.frames import frame_of
from kit.spark import empty_home
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.run.job import JobContext
from lakehouse.timestamps import from_micros

pytestmark = pytest.mark.long

MINUTE = 60_000_000
ROWS = [(3, 5), (9, 12), (12, 20)]  # the window from 5 to 9 has lost all its events to a bot, and its row
Span = tuple[int, int]


class Closed:
    """Closed windows in gold.traffic, the last of which ended in minute 20."""

    def __init__(self, spark: SparkSession, home: Path, rows: Sequence[Span] = ROWS) -> None:
        run = JobContext("publish", spark.newSession(), empty_home(spark, home), once=True)
        run.tune_for_batch(0)
        self._lake, self._spark = run.lake, run.spark
        times = ((from_micros(start * MINUTE), from_micros(end * MINUTE)) for start, end in rows)
        windows = [
            {"window_kind": "ten", "window_start": start, "window_end": end, "channel": channel}
            for start, end in times
            for channel in (None, "Direct")
        ]
        run.lake.append(TRAFFIC.name, frame_of(run.spark, TRAFFIC.name, windows))

    def spans_of(self, *minutes: int) -> dict[int, Span]:
        """By minute, the closed window that contains it, if new events are in all these minutes."""
        rows = [("ann", minute * MINUTE) for minute in minutes]
        frame = self._spark.createDataFrame(rows, "visitor_id STRING, minute BIGINT")
        new = NewMinutes(frame, len(rows), min(minutes) * MINUTE, [])
        found = find_closed_windows(self._lake, {"ten": 20 * MINUTE}, new)
        places = found.places.collect() if found else []
        return {
            row.minute // MINUTE: (row.window_start // MINUTE, row.window_end // MINUTE) for row in places
        }


def test_late_minute_is_in_one_closed_window_and_none_after_the_last(
    spark: SparkSession, tmp_path: Path
) -> None:
    closed = Closed(spark, tmp_path)
    assert closed.spans_of(3, 4, 9, 19, 20) == {3: (3, 5), 4: (3, 5), 9: (9, 12), 19: (12, 20)}
    assert closed.spans_of(20) == {}


def test_minute_of_removed_window_is_between_its_neighbours(spark: SparkSession, tmp_path: Path) -> None:
    assert Closed(spark, tmp_path).spans_of(5, 8) == {5: (5, 9), 8: (5, 9)}


def test_minute_before_first_window_is_in_a_window_from_the_epoch(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert Closed(spark, tmp_path).spans_of(2, 13) == {2: (0, 3), 13: (12, 20)}


@pytest.mark.parametrize(("rows", "span"), [([(3, 5), (9, 12)], (12, 20)), ([(3, 5)], (5, 20))])
def test_minute_of_removed_last_window_is_before_its_end(
    rows: list[Span], span: Span, spark: SparkSession, tmp_path: Path
) -> None:
    assert Closed(spark, tmp_path, rows).spans_of(15, 20) == {15: span}
