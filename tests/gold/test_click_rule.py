"""Which clicks count: the first, and each 10 s or more after the last counted one."""

from datetime import timedelta

import pytest

from gold.rules.clicks import counted
from kit.records import NOON

CASES = {
    "none": ([], []),
    "one": ([0], [0]),
    "a tick too soon": ([0, 9.999999], [0]),
    "exactly 10 s counts again": ([0, 10], [0, 10]),
    "measured from the last that counted": ([0, 6, 12, 18, 22], [0, 12, 22]),
    "in any order": ([12, 0, 6], [0, 12]),
}


@pytest.mark.parametrize("case", CASES)
def test_counted(case: str) -> None:
    seconds, kept = CASES[case]
    clicks = [(NOON + timedelta(seconds=second), f"c{second}") for second in seconds]
    assert counted(clicks) == [f"c{second}" for second in kept]


def test_of_two_at_once_the_smaller_uid_counts() -> None:
    assert counted([(NOON, "b"), (NOON, "a")]) == ["a"]
