"""The last version of a table without rows beyond the high-water mark."""

import pytest

from lakehouse.delta.time_travel import last_version_through

NO_METADATA: dict[str, object] = {}


def refine(upto: int) -> dict[str, object]:
    return {"job": "refine", "upto": upto}


def publish(side_input: int) -> dict[str, object]:
    return {"job": "refine", "upto": 5, "heard": side_input}


def repair(upto: int) -> dict[str, object]:
    return {"job": "repair", "upto": upto}


CASES = {
    "all commits": ([NO_METADATA, refine(1), refine(5)], 2),
    "last commit beyond the mark": ([NO_METADATA, refine(5), refine(6)], 1),
    "commits after the first one beyond the mark": (
        [NO_METADATA, refine(5), refine(6), NO_METADATA, refine(7), NO_METADATA],
        1,
    ),
    "only commit beyond the mark": ([NO_METADATA, refine(6)], 0),
    "compaction after the last commit": ([NO_METADATA, refine(5), NO_METADATA], 2),
    "commit of another job for earlier rows": ([NO_METADATA, refine(5), repair(4)], 2),
    "commit for earlier rows after one beyond the mark": ([NO_METADATA, refine(5), refine(6), repair(4)], 1),
    "side input beyond its mark": ([NO_METADATA, publish(7), publish(9)], 1),
    "no commit of a job": ([NO_METADATA], 0),
}


@pytest.mark.parametrize("name", CASES)
def test_last_version_through_high_water_mark(name: str) -> None:
    commits, version = CASES[name]
    assert last_version_through(list(enumerate(commits))[::-1], (5, 8), "refine") == version
