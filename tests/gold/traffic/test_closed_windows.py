"""Which closed count window a late minute lies in."""

import sys

import pyarrow as pa
import pytest

from gold.traffic.closed_windows import ClosedWindows
from lakehouse.delta.lookup import Lookup

MINUTE = 60_000_000
ROWS = [(3, 5), (9, 12), (12, 20)]  # the window from 5 to 9 has lost all its events to a bot, and its row


class Table:
    """gold.traffic in memory, pruned as a look-up prunes."""

    def look_up(self, _: str, wanted: Lookup) -> pa.Table:
        starts, ends = ([at * MINUTE for at in column] for column in zip(*ROWS, strict=True))
        rows = pa.table([["ten"] * len(ROWS), starts, ends], names=list(wanted.columns))
        mask = wanted.mask(rows.select(list(wanted.asked)))
        return rows if mask is None else rows.filter(mask)


def span_of(minute: int) -> tuple[int, int] | None:
    closed = ClosedWindows(None, {"ten": 10}, {"ten": 20 * MINUTE})  # type: ignore[arg-type]
    for windows in closed.covering(Table(), minute * MINUTE):  # type: ignore[arg-type]
        for start, end in windows.spans_of(windows.bucket_of(minute * MINUTE)):
            return start // MINUTE, end // MINUTE
    return None


def test_late_minute_lies_in_one_closed_window_and_none_after_the_last() -> None:
    assert [span_of(minute) for minute in (3, 4, 9, 19)] == [(3, 5), (3, 5), (9, 12), (12, 20)]
    assert span_of(20) is None


def test_minute_of_removed_window_lies_between_its_neighbours() -> None:
    assert [span_of(minute) for minute in (5, 8)] == [(5, 9), (5, 9)]


def test_minute_before_first_window_lies_in_a_window_from_the_epoch() -> None:
    assert span_of(2) == (0, 3)


@pytest.mark.parametrize(("rows", "span"), [([(3, 5), (9, 12)], (12, 20)), ([(3, 5)], (5, 20))])
def test_minute_of_removed_last_window_lies_before_its_end(
    rows: list[tuple[int, int]], span: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROWS", rows)
    assert [span_of(minute) for minute in (15, 20)] == [span, None]
