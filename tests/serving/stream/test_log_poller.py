"""One thread tells all channels of commits."""

import threading
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest

from kit.live_table import NAME, LiveTable
from kit.polling import eventually
from lakehouse.readers.folder_tables import FolderTables
from serving.stream.log_poller import LogPoller


class CountedTables(FolderTables):
    """Tables that count how often their logs are read."""

    polls: ClassVar[Counter[str]] = Counter()

    def latest_version(self, name: str, known: int = -1) -> int:
        self.polls[name] += 1
        return super().latest_version(name, known)


def test_commit_is_told_to_followers_of_its_table_only(tmp_path: Path) -> None:
    table = LiveTable(tmp_path)
    poller, here, elsewhere = (
        LogPoller(FolderTables(tmp_path / "warehouse")),
        threading.Event(),
        threading.Event(),
    )
    poller.follow([NAME, "gold.traffic"], here)
    poller.follow(["gold.funnel"], elsewhere)
    assert here.is_set()  # each reads its tables first
    assert elsewhere.is_set()
    eventually(lambda: set(poller._states) == {NAME, "gold.traffic", "gold.funnel"})
    for _ in range(3):
        here.clear()
        elsewhere.clear()
        table.commit()
        assert here.wait(10)
        assert not elsewhere.is_set()
    poller.stop()


def test_followers_of_a_table_share_its_polls(tmp_path: Path) -> None:
    LiveTable(tmp_path)
    tables = CountedTables(tmp_path / "warehouse")
    poller = LogPoller(tables)
    for _ in range(100):
        poller.follow([NAME], threading.Event())
    eventually(lambda: tables.polls[NAME] >= 10)
    poller.stop()
    assert sum(thread.name.endswith("(_poll)") for thread in threading.enumerate()) <= 1


def test_error_is_told_once_and_its_end_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LiveTable(tmp_path)
    tables, changed, errors = FolderTables(tmp_path / "warehouse"), threading.Event(), [OSError("busy")]

    def written_at(self: FolderTables, name: str, version: int) -> int:
        if errors:
            raise errors[0]
        return 1

    monkeypatch.setattr(FolderTables, "written_at", written_at)
    poller = LogPoller(tables)
    poller.follow([NAME], changed)
    eventually(lambda: NAME in poller._states)
    changed.clear()
    assert not changed.wait(0.3)
    errors.clear()
    assert changed.wait(10)
    poller.leave(changed)
    poller.stop()
