"""Rows of a change data feed that are read in advance are those of the version, and complete."""

from concurrent.futures import wait

import pyarrow as pa
import pytest

from lakehouse.readers import stored_changes
from lakehouse.readers.stored_changes import StoredChanges

ROWS = {1: ["a"], 2: ["b", "c"], 3: [], 4: ["d"], 5: ["e"]}


class Feed:
    """A feed that has versions up to the latest one, of which each reading is counted."""

    def __init__(self, latest: int) -> None:
        self.latest = latest
        self.readings: list[tuple[int, int | None]] = []

    def read(self, first: int, last: int | None) -> pa.Table:
        self.readings.append((first, last))
        if first > self.latest:
            raise LookupError
        upto = self.latest if last is None else last
        rows = [(version, text) for version in range(first, upto + 1) for text in ROWS[version]]
        versions, texts = zip(*rows, strict=True) if rows else ((), ())
        return pa.table(
            {"_commit_version": pa.array(versions, pa.int64()), "text": pa.array(texts, pa.string())}
        )


def read_in_advance(feed: Feed, version: int) -> StoredChanges:
    found = StoredChanges(feed.read)
    found.of(1)
    found.expect(version)
    assert found._coming is not None
    wait([found._coming], 10)
    return found


@pytest.mark.parametrize("first", [2, 3, 4, 5])
@pytest.mark.parametrize("latest", [2, 3, 4, 5])
def test_rows_are_those_of_the_version_whatever_was_there_in_advance(first: int, latest: int) -> None:
    feed = Feed(latest)
    changes = read_in_advance(feed, first)
    feed.latest = 5
    for version in range(first, 6):
        assert changes.of(version)["text"].to_pylist() == ROWS[version]


def test_noticed_commit_is_read_once() -> None:
    feed = Feed(2)
    assert read_in_advance(feed, 2).of(2)["text"].to_pylist() == ["b", "c"]
    assert feed.readings == [(1, 1), (2, None)]


def test_nothing_is_read_in_advance_before_somebody_reads_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_changes._THREADS, "submit", lambda *_: pytest.fail("read in advance"))
    StoredChanges(Feed(5).read).expect(1)
