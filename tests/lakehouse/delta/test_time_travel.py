"""Which version of a table stood before rows that nobody is to see yet."""

import pytest

from lakehouse.delta.time_travel import last_version_through

MADE: dict[str, object] = {}


def refine(upto: int) -> dict[str, object]:
    return {"job": "refine", "upto": upto}


def publish(heard: int) -> dict[str, object]:
    return {"job": "refine", "upto": 5, "heard": heard}


def repair(upto: int) -> dict[str, object]:
    return {"job": "repair", "upto": upto}


CASES = {
    "all of it": ([MADE, refine(1), refine(5)], 2),
    "without the last": ([MADE, refine(5), refine(6)], 1),
    "without all that came after": ([MADE, refine(5), refine(6), MADE, refine(7), MADE], 1),
    "nothing yet": ([MADE, refine(6)], 0),
    "what was compacted since": ([MADE, refine(5), MADE], 2),
    "what another job wrote for earlier rows": ([MADE, refine(5), repair(4)], 2),
    "not what it wrote behind later ones": ([MADE, refine(5), refine(6), repair(4)], 1),
    "without what was heard later": ([MADE, publish(7), publish(9)], 1),
    "nobody has written": ([MADE], 0),
}


@pytest.mark.parametrize("name", CASES)
def test_what_stood(name: str) -> None:
    commits, version = CASES[name]
    assert last_version_through(list(enumerate(commits))[::-1], (5, 8), "refine") == version
