"""Corrections read from the change feed equal those tracked commit by commit."""

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
    """Windows under revision, and the corrections that the page must show for them."""

    home: Path
    rows: dict[int, Row] = field(default_factory=dict)
    on_time: dict[int, Row] = field(default_factory=dict)
    late: int = 0

    def commit(self, actions: list[str]) -> None:
        for number, action in enumerate(actions):
            getattr(self, action)(number)
        replace_rows(self.home, "gold.traffic", self.rows.values())

    def leave_unchanged(self, number: int) -> None:
        """Leave the window as it is."""

    def add_events(self, number: int) -> None:
        """Add events: early before the window is complete, late after it."""
        row = self.rows.get(number)
        if row is None:
            self._put(number, pane="early", events=1, is_complete=False, revision=0)
            return
        if row["is_complete"]:
            self.late += 2
        self._revise(number, 2, pane="late" if row["is_complete"] else "early")

    def complete(self, number: int) -> None:
        """The watermark passes the end of the window."""
        row = self.rows.get(number)
        if row and not row["is_complete"]:
            self._put(number, **{**row, "pane": "on_time", "is_complete": True})
            self.on_time.setdefault(number, self.rows[number])

    def remove_bot_event(self, number: int) -> None:
        """Remove a bot's event, and the window if it becomes empty."""
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


ACTIONS = st.lists(
    st.sampled_from(("leave_unchanged", "add_events", "complete", "remove_bot_event")),
    min_size=WINDOWS,
    max_size=WINDOWS,
)


@given(commits=st.lists(st.tuples(ACTIONS, st.booleans()), min_size=1, max_size=9), at_once=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_corrections_equal_changes_tracked_commit_by_commit(
    commits: list[tuple[list[str], bool]], at_once: int
) -> None:
    with TemporaryDirectory() as folder, patch.multiple(corrections, _AT_ONCE=at_once, _SECONDS=0):
        windows = Windows(Path(folder))
        lake = Lake(LocalTables(Path(folder) / "warehouse"))
        for actions, is_viewed in commits:
            windows.commit(actions)
            if is_viewed:
                lake.look().figure(panes, DAY, "1 hour")
        windows.assert_shown(list(panes_until_unchanged(lake))[-1])


def panes_until_unchanged(lake: Lake) -> Iterator[Panes]:
    """Take snapshots until no further commit of the change feed is read."""
    before, look = None, lake.look()
    while before != (version := look.version(CORRECTIONS)):
        yield look.figure(panes, DAY, "1 hour")
        before, look = version, lake.look()


@pytest.fixture
def windows(tmp_path: Path) -> Windows:
    """A window that is complete in version 0, and late in versions 1 to 7."""
    found = Windows(tmp_path)
    found.add_events(0)
    found.complete(0)
    found.commit(["leave_unchanged"])
    for _ in range(7):
        found.commit(["add_events"])
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LocalTables(tmp_path / "warehouse"))


def read_commits(lake: Lake) -> list[int]:
    found = lake.look().figure(lambda ask: ask(Query(CORRECTIONS, ("commit_version", "window_kind"))))
    return sorted(found.filter(found["window_kind"].is_null())["commit_version"])


def table_folder(windows: Windows) -> Path:
    return windows.home / "warehouse" / "gold" / "traffic"


def test_each_commit_is_read_once_latest_first(windows: Windows, lake: Lake) -> None:
    once = patch.object(corrections, "_read", side_effect=corrections._read)
    with patch.multiple(corrections, _AT_ONCE=3, _SECONDS=0), once as read:
        shown = list(panes_until_unchanged(lake))
        windows.commit(["add_events"])
        shown += panes_until_unchanged(lake)
    assert [call.args[1] for call in read.call_args_list] == [*range(7, -1, -1), 8]
    assert [found.late for found in shown] == [6, 12, 14, 16]
    windows.assert_shown(shown[-1])
    sinces = [found.since for found in shown]
    assert sinces == sorted(sinces, reverse=True)


def test_history_starts_after_vacuumed_files(windows: Windows, lake: Lake) -> None:
    versions = [set(DeltaTable(table_folder(windows), version=version).file_uris()) for version in (3, 4)]
    (gone,) = versions[0] - versions[1]
    Path(gone).unlink()
    found = list(panes_until_unchanged(lake))[-1]
    assert read_commits(lake) == [5, 6, 7]
    assert (found.late, found.on_time, found.corrected.height) == (6, 0, 0), "on time is not known any more"
    assert found.other == 0, "late events are compared where on time is known"
    assert found.since is not None


def test_late_rate_leaves_out_windows_whose_on_time_pane_is_unknown(windows: Windows, lake: Lake) -> None:
    versions = [set(DeltaTable(table_folder(windows), version=version).file_uris()) for version in (3, 4)]
    (gone,) = versions[0] - versions[1]
    Path(gone).unlink()
    for action in ("add_events", "complete", "add_events"):
        windows.commit(["leave_unchanged", action])
    found = list(panes_until_unchanged(lake))[-1]
    assert (found.late, found.on_time, found.other) == (8, 1, 0)
    assert found.late_rate == 2


def test_history_starts_after_commits_removed_from_log(windows: Windows, lake: Lake) -> None:
    DeltaTable(table_folder(windows)).create_checkpoint()
    for version in range(3):
        (table_folder(windows) / "_delta_log" / f"{version:020}.json").unlink()
    list(panes_until_unchanged(lake))
    assert read_commits(lake) == [3, 4, 5, 6, 7]


def test_kept_corrections_are_limited_by_rows(windows: Windows, lake: Lake) -> None:
    once = patch.object(corrections, "_read", side_effect=corrections._read)
    with patch.object(corrections, "_MOST_ROWS", 7), once as read:  # a commit has two rows
        list(panes_until_unchanged(lake))
        assert read_commits(lake) == [5, 6, 7]
        assert read.call_count == 4, "what is dropped is not read again"
        windows.commit(["add_events"])
        list(panes_until_unchanged(lake))
    assert read_commits(lake) == [6, 7, 8]


def test_commit_with_large_files_is_not_read(windows: Windows, lake: Lake) -> None:
    with patch.object(corrections, "_MOST_BYTES", 1):
        (found,) = panes_until_unchanged(lake)
    assert found.since is None
    assert found.revised["events"].to_list() == [15]


def test_recreated_table_has_its_own_history(windows: Windows, lake: Lake) -> None:
    list(panes_until_unchanged(lake))
    shutil.rmtree(table_folder(windows))
    again = Windows(windows.home)
    again.commit(["add_events"])
    again.commit(["complete"])
    again.commit(["add_events"])
    again.assert_shown(list(panes_until_unchanged(lake))[-1])
    assert read_commits(lake) == [0, 1, 2]


def test_commit_that_rewrites_unchanged_rows_is_no_correction(windows: Windows, lake: Lake) -> None:
    replace_rows(windows.home, "gold.traffic", windows.rows.values())
    windows.assert_shown(list(panes_until_unchanged(lake))[-1])
