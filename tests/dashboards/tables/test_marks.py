"""High-water marks of commits with the time of writing: the same from a folder's log and from a history."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
from tables.delta_backend import LocalTables
from tables.sql_backend import SqlTables
from tables.table_cache import Lake

from kit.warehouse_builder import append_rows

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
MARKS = (None, 1, 2, None, 3)


def local(home: Path) -> LocalTables:
    for mark in MARKS:
        append_rows(home, "gold.traffic", [{"events": 1}], mark)
    return LocalTables(home / "warehouse")


def test_marks_from_a_position_on_are_those_of_the_log(tmp_path: Path) -> None:
    tables = local(tmp_path)
    assert [mark for mark, _ in tables.marks("gold.traffic", 2)] == [3, 2]
    now = datetime.now(timezone.utc).timestamp()
    assert all(now - 600 < written / 1e6 <= now + 1 for _, written in tables.marks("gold.traffic", 0))
    assert tables.marks("gold.touches", 0) == []


def test_marks_of_a_history_have_its_times() -> None:
    def history(text: str, _: dict[str, Any]) -> pa.Table:
        if "touches" in text:
            raise LookupError(text)
        rows = [
            {
                "version": version,
                "timestamp": AT + timedelta(seconds=version),
                "userMetadata": None if mark is None else json.dumps({"upto": mark}),
            }
            for version, mark in enumerate(MARKS)
        ]
        return pa.Table.from_pylist(rows)

    tables = SqlTables(history)
    micros = int(AT.timestamp()) * 10**6
    assert tables.marks("gold.traffic", 2) == [(3, micros + 4 * 10**6), (2, micros + 2 * 10**6)]
    assert tables.marks("gold.touches", 0) == []


def test_version_is_within_position_however_many_commits_are_beyond_it() -> None:
    asked = []

    def history(text: str, _: dict[str, Any]) -> pa.Table:
        asked.append(int(text.split("LIMIT ")[1]))
        rows = [
            {
                "version": version,
                "timestamp": AT + timedelta(seconds=version),
                "userMetadata": json.dumps({"upto": stamp(version)}),
            }
            for version in reversed(range(151))
        ]
        return pa.Table.from_pylist(rows[: asked[-1]])

    def stamp(version: int) -> int:
        return int((AT + timedelta(seconds=version - 1)).timestamp() * 1e6)

    tables = SqlTables(history)
    for version, limits in ((140, [100]), (10, [100, 1000])):
        found = tables.version("silver.events", stamp(version))
        assert found is not None
        assert (found.number, asked) == (version, limits)
        asked.clear()


def test_marks_are_read_once_for_each_version(tmp_path: Path) -> None:
    tables = local(tmp_path)
    lake = Lake(tables)
    first = lake.look().marks("gold.traffic", 0)
    assert lake.look().marks("gold.traffic", 0) is first
    append_rows(tmp_path, "gold.traffic", [{"events": 1}], 4)
    assert [mark for mark, _ in lake.look().marks("gold.traffic", 0)] == [4, *(mark for mark, _ in first)]
