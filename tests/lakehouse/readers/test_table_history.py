"""What is known of the commits of a catalog's table, and how often its history is read."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from threading import Event

import pyarrow as pa
import pytest

from lakehouse.readers.table_history import TableHistory

_NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


class Log:
    """A table's log, of which each reading is counted."""

    def __init__(self, commits: int, first: int = 0, made_at: datetime = _NOON) -> None:
        self.versions = list(range(first, commits))
        self.made_at = made_at
        self.readings: list[int] = []
        self.may_answer = Event()
        self.may_answer.set()

    def read(self, count: int) -> pa.Table:
        self.readings.append(count)
        self.may_answer.wait(10)
        if not self.versions:
            raise LookupError
        latest = self.versions[::-1][:count]
        times = [self.made_at + timedelta(seconds=version) for version in latest]
        columns = {"version": latest, "timestamp": times, "userMetadata": [f"m{each}" for each in latest]}
        return pa.table(columns)


def test_missing_table_has_version_minus_one() -> None:
    history = TableHistory(Log(0).read)
    assert (history.latest(), history.find(0)) == (-1, None)


@pytest.mark.parametrize("new", [1, 9, 10, 11, 300])
def test_no_commit_between_two_looks_is_missed(new: int) -> None:
    log = Log(3)
    history = TableHistory(log.read)
    assert history.latest() == 2
    log.versions = list(range(3 + new))
    assert history.latest() == 2 + new
    readings = len(log.readings)
    assert [history.find(each).user_metadata for each in log.versions] == [
        f"m{each}" for each in log.versions
    ]  # type: ignore[union-attr]
    assert len(log.readings) == readings


def test_earlier_commit_is_read_once_and_expired_one_is_unknown() -> None:
    log = Log(500, first=100)
    history = TableHistory(log.read)
    assert (history.latest(), history.find(99), history.find(500)) == (499, None, None)
    entry = history.find(100)
    assert entry is not None
    assert entry.written_at == int((_NOON + timedelta(seconds=100)).timestamp()) * 10**9
    assert log.readings == [10, 401]


def test_commits_of_two_days_of_a_busy_table_are_found() -> None:
    history = TableHistory(Log(20_000).read)
    assert history.latest() == 19_999
    for version in (19_000, 12_000, 1):
        entry = history.find(version)
        assert entry is not None
        assert entry.user_metadata == f"m{version}"


@pytest.mark.parametrize("commits", [1, 3, 40])
def test_recreated_table_forgets_the_id_and_the_times_of_the_old_one(commits: int) -> None:
    log = Log(3)
    history = TableHistory(log.read)
    history.latest()
    before, history.table_id = history.find(2), "a"
    log.versions, log.made_at = list(range(commits)), _NOON + timedelta(days=1)
    assert (history.latest(), history.table_id) == (commits - 1, "")
    assert history.find(2) != before


def test_threads_that_ask_at_the_same_time_share_a_query() -> None:
    log = Log(3)
    history = TableHistory(log.read)
    log.may_answer.clear()
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(history.latest)
        while not log.readings:
            pass
        others = [threads.submit(history.latest) for _ in range(7)]
        log.may_answer.set()
        assert {each.result() for each in (first, *others)} == {2}
    assert len(log.readings) <= 3  # the first, one for all who asked during it, and one for a straggler


def test_history_is_not_read_while_there_is_no_later_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    log, now = Log(3), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    history = TableHistory(log.read, lambda version: max(log.versions) > version)
    for _ in range(5):
        now[0] += 1
        assert history.latest() == 2
    assert len(log.readings) == 1
    log.versions.append(3)
    now[0] += 1
    assert history.latest() == 3
    log.made_at = _NOON + timedelta(days=1)  # created again, with as many commits
    now[0] += 10
    before = history.find(3)
    assert history.latest() == 3
    assert history.find(3) != before
