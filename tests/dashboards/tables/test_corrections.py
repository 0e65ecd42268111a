"""Corrections of windows from the change feed, against windows followed commit by commit."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics.windows import MEASURES, Panes, panes
from period import Period
from query_scope import Scope
from schema import CORRECTIONS
from tables import corrections
from tables.delta_backend import LocalTables
from tables.query import Query
from tables.table_cache import Lake

from kit.warehouse_builder import replace_rows

NOON = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
DAY = Scope(Period(NOON - timedelta(hours=12), NOON + timedelta(hours=12)))
WINDOWS = 3
Row = dict[str, Any]


@dataclass
class Windows:
    """Windows that are revised, and what the page has to say about them."""

    home: Path
    rows: dict[int, Row] = field(default_factory=dict)
    on_time: dict[int, Row] = field(default_factory=dict)
    late: int = 0

    def commit(self, actions: list[str]) -> None:
        for number, action in enumerate(actions):
            getattr(self, action)(number)
        replace_rows(self.home, "gold.traffic", self.rows.values())

    def keep(self, number: int) -> None:
        """Leave the window as it is."""

    def more(self, number: int) -> None:
        """Events: early, on time or late."""
        row = self.rows.get(number)
        if row is None:
            self._put(number, pane="early", events=1, is_complete=False, revision=0)
            return
        if row["is_complete"]:
            self.late += 2
        self._revise(number, 2, pane="late" if row["is_complete"] else "early")

    def end(self, number: int) -> None:
        """The watermark passes the end."""
        row = self.rows.get(number)
        if row and not row["is_complete"]:
            self._put(number, **{**row, "pane": "on_time", "is_complete": True})
            self.on_time.setdefault(number, self.rows[number])

    def bot(self, number: int) -> None:
        """A bot leaves; with it, maybe, the window."""
        row = self.rows.get(number)
        if row and row["events"] <= 1:
            del self.rows[number]
        elif row:
            self._revise(number, -1, pane=row["pane"])

    def _revise(self, number: int, events: int, pane: str) -> None:
        row = self.rows[number]
        values = {"events": row["events"] + events, "revision": row["revision"] + 1}
        self._put(number, pane=pane, is_complete=row["is_complete"], **values)

    def _put(self, number: int, **values: Any) -> None:
        start = NOON + number * timedelta(hours=1)
        measures = dict.fromkeys(MEASURES[1:], values["events"] * 2)
        self.rows[number] = {
            "window_kind": "1 hour",
            "window_start": start,
            "window_end": start + timedelta(hours=1),
            **measures,
            "reporting_value": Decimal(values["events"]),
            **values,
        }

    def assert_shown(self, found: Panes) -> None:
        compared = {number for number in self.on_time if number in self.rows}
        changes = {
            self.rows[number]["window_start"]: self.rows[number]["events"] - self.on_time[number]["events"]
            for number in compared
        }
        shown = dict(found.corrected.select("window_start", "events_change").iter_rows())
        assert shown == {start: change for start, change in changes.items() if change}
        assert found.on_time == sum(self.on_time[number]["events"] for number in compared)
        assert (found.late, found.other) == (self.late, sum(changes.values()) - self.late)


ACTIONS = st.lists(st.sampled_from(("keep", "more", "end", "bot")), min_size=WINDOWS, max_size=WINDOWS)


@given(commits=st.lists(st.tuples(ACTIONS, st.booleans()), min_size=1, max_size=9), at_once=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_corrections_are_what_followed_windows_say(
    commits: list[tuple[list[str], bool]], at_once: int
) -> None:
    with TemporaryDirectory() as folder, patch.multiple(corrections, _AT_ONCE=at_once, _SECONDS=0):
        windows = Windows(Path(folder))
        lake = Lake(LocalTables(Path(folder) / "warehouse"))
        for actions, is_looked_at in commits:
            windows.commit(actions)
            if is_looked_at:
                lake.look().figure(panes, DAY, "1 hour")
        windows.assert_shown(list(looks(lake))[-1])


def looks(lake: Lake) -> Iterator[Panes]:
    """Look until no more is read."""
    before, look = None, lake.look()
    while before != (version := look.version(CORRECTIONS)):
        yield look.figure(panes, DAY, "1 hour")
        before, look = version, lake.look()


@pytest.fixture
def windows(tmp_path: Path) -> Windows:
    """A window that is complete in version 0, and late in versions 1 to 7."""
    found = Windows(tmp_path)
    found.more(0)
    found.end(0)
    found.commit(["keep"])
    for _ in range(7):
        found.commit(["more"])
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LocalTables(tmp_path / "warehouse"))


def commits_of(lake: Lake) -> list[int]:
    found = lake.look().figure(lambda ask: ask(Query(CORRECTIONS, ("commit_version", "window_kind"))))
    return sorted(found.filter(found["window_kind"].is_null())["commit_version"])


def folder_of(windows: Windows) -> Path:
    return windows.home / "warehouse" / "gold" / "traffic"


def test_each_commit_is_read_once_the_latest_first(windows: Windows, lake: Lake) -> None:
    once = patch.object(corrections, "_read", side_effect=corrections._read)
    with patch.multiple(corrections, _AT_ONCE=3, _SECONDS=0), once as read:
        shown = list(looks(lake))
        windows.commit(["more"])
        shown += looks(lake)
    assert [call.args[1] for call in read.call_args_list] == [*range(7, -1, -1), 8]
    assert [found.late for found in shown] == [6, 12, 14, 16]
    windows.assert_shown(shown[-1])
    sinces = [found.since for found in shown]
    assert sinces == sorted(sinces, reverse=True)


def test_history_begins_after_files_that_vacuum_has_removed(windows: Windows, lake: Lake) -> None:
    versions = [set(DeltaTable(folder_of(windows), version=version).file_uris()) for version in (3, 4)]
    (gone,) = versions[0] - versions[1]
    Path(gone).unlink()
    found = list(looks(lake))[-1]
    assert commits_of(lake) == [5, 6, 7]
    assert (found.late, found.on_time, found.corrected.height) == (6, 0, 0), "on time is not known any more"
    assert found.since is not None


def test_history_begins_after_commits_that_have_left_the_log(windows: Windows, lake: Lake) -> None:
    DeltaTable(folder_of(windows)).create_checkpoint()
    for version in range(3):
        (folder_of(windows) / "_delta_log" / f"{version:020}.json").unlink()
    list(looks(lake))
    assert commits_of(lake) == [3, 4, 5, 6, 7]


def test_no_more_rows_are_kept_than_the_limit(windows: Windows, lake: Lake) -> None:
    once = patch.object(corrections, "_read", side_effect=corrections._read)
    with patch.object(corrections, "_MOST_ROWS", 7), once as read:  # two of a commit
        list(looks(lake))
        assert commits_of(lake) == [5, 6, 7]
        assert read.call_count == 4, "what is dropped is not read again"
        windows.commit(["more"])
        list(looks(lake))
    assert commits_of(lake) == [6, 7, 8]


def test_a_commit_of_large_files_is_not_read(windows: Windows, lake: Lake) -> None:
    with patch.object(corrections, "_MOST_BYTES", 1):
        (found,) = looks(lake)
    assert found.since is None
    assert found.revised["events"].to_list() == [15]


def test_a_table_that_was_made_again_has_its_own_history(windows: Windows, lake: Lake) -> None:
    list(looks(lake))
    shutil.rmtree(folder_of(windows))
    again = Windows(windows.home)
    again.commit(["more"])
    again.commit(["end"])
    again.commit(["more"])
    again.assert_shown(list(looks(lake))[-1])
    assert commits_of(lake) == [0, 1, 2]


def test_a_commit_that_moves_rows_is_no_correction(windows: Windows, lake: Lake) -> None:
    replace_rows(windows.home, "gold.traffic", windows.rows.values())
    windows.assert_shown(list(looks(lake))[-1])
