"""The last version of a table up to a high-water mark, by the commits that its log still has."""

import pytest

from lakehouse.delta.log_files import last_version_within


def within(marks: dict[int, int | None], position: int) -> int:
    """By the marks of the commits that were not removed."""
    metadata = {version: {"upto": mark, "job": "publish"} for version, mark in marks.items()}
    return last_version_within(max(marks), position, "refine", metadata.get, lambda version: version in marks)


def test_version_is_that_before_the_first_commit_beyond_the_mark() -> None:
    marks: dict[int, int | None] = {1: 10, 2: 20, 3: None, 4: 40}
    assert [within(marks, position) for position in (5, 10, 19, 20, 39, 40)] == [0, 1, 1, 3, 3, 4]


def test_log_that_begins_beyond_the_mark_does_not_say_the_version() -> None:
    marks: dict[int, int | None] = {4: 40, 5: 50}
    assert [within(marks, position) for position in (40, 50)] == [4, 5]
    with pytest.raises(LookupError):
        within(marks, 39)
