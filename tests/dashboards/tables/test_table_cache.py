"""A snapshot pins one version per table, unchanged tables are not read again, and the cache is bounded."""

import shutil
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

import polars as pl
import pytest
from schema import COLUMNS
from tables.delta_backend import LocalTables
from tables.query import Measure, Query
from tables.table_cache import Ask, Lake

from kit.warehouse_builder import append_rows, replace_rows

SESSIONS = Query("silver.sessions", ("session_id",), order=("session_id",))


class CountingFigure:
    """A figure that counts how often it is computed."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, ask: Ask) -> int:
        self.calls += 1
        return ask(SESSIONS).height


def session(number: int, is_open: bool = True) -> dict[str, object]:
    return {"session_id": f"s{number}", "visitor_id": "v", "is_open": is_open}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LocalTables(tmp_path / "warehouse"))


@pytest.mark.parametrize("name", COLUMNS)
def test_missing_table_is_empty_with_columns_of_its_contract(name: str, lake: Lake) -> None:
    found = lake.look().figure(lambda ask: ask(Query(name, tuple(COLUMNS[name]))))
    assert dict(found.schema) == COLUMNS[name]
    assert lake.look().facts(name) is None


def test_unchanged_table_is_not_read_again(lake: Lake, tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    count = CountingFigure()
    assert [lake.look().figure(count) for _ in range(5)] == [1] * 5
    assert count.calls == 1


def window(minute: int) -> dict[str, object]:
    return {"window_kind": "1 minute", "window_start": datetime(2026, 3, 1, 9, minute, tzinfo=timezone.utc)}


def test_snapshot_pins_tables_to_high_water_mark_of_gold_traffic(lake: Lake, tmp_path: Path) -> None:
    now = int(time.time() * 1e6) - 10_000_000
    sessions = CountingFigure()

    def append(number: int, upto: int) -> None:
        append_rows(tmp_path, "silver.sessions", [session(number)], upto)

    append(1, now)
    append(2, now + 1)
    assert lake.look().figure(sessions) == 2, "before the first window, the latest"
    append_rows(tmp_path, "gold.traffic", [window(0)], now)
    assert Lake(lake.backend).look().position == now
    for each in (lake, Lake(LocalTables(tmp_path / "warehouse"))):  # opened before and after that commit
        assert each.look().figure(CountingFigure()) == 1
    append(3, now + 2)
    append(4, now + 3)
    append_rows(tmp_path, "gold.traffic", [window(1)], now + 2)
    for each in (lake, Lake(LocalTables(tmp_path / "warehouse"))):
        assert each.look().figure(sessions) == 3
    append_rows(tmp_path, "silver.sessions", [session(5)])
    assert lake.look().figure(sessions) == 3, "a commit without a position follows one that is not shown yet"
    append_rows(tmp_path, "gold.traffic", [window(2)], now + 3)
    assert lake.look().figure(sessions) == 5


def test_snapshot_keeps_its_position_while_tables_advance(lake: Lake, tmp_path: Path) -> None:
    now = int(time.time() * 1e6)
    append_rows(tmp_path, "gold.traffic", [window(0)], now)
    append_rows(tmp_path, "silver.sessions", [], now)
    look = lake.look()
    assert look.position == now
    append_rows(tmp_path, "silver.sessions", [session(1)], now + 1)
    append_rows(tmp_path, "gold.traffic", [window(1)], now + 1)
    assert look.figure(CountingFigure()) == 0
    assert lake.look().figure(CountingFigure()) == 1


def test_snapshot_reads_no_later_version_that_another_one_opened(lake: Lake, tmp_path: Path) -> None:
    now = int(time.time() * 1e6)
    append_rows(tmp_path, "gold.traffic", [window(0)], now)
    append_rows(tmp_path, "silver.sessions", [session(1)], now)
    look = lake.look()
    assert look.position == now
    append_rows(tmp_path, "silver.sessions", [session(2)], now + 1)
    append_rows(tmp_path, "gold.traffic", [window(1)], now + 1)
    append_rows(tmp_path, "silver.sessions", [session(3)])
    assert lake.look().figure(CountingFigure()) == 3, "a commit without a position follows one that is shown"
    assert look.figure(CountingFigure()) == 1
    assert lake.look().figure(CountingFigure()) == 3


def test_changed_table_is_read_again(lake: Lake, tmp_path: Path) -> None:
    count = CountingFigure()
    assert lake.look().figure(count) == 0
    append_rows(tmp_path, "silver.sessions", [session(1), session(2, is_open=False)])
    assert lake.look().figure(count) == 2
    replace_rows(tmp_path, "silver.sessions", [session(3)])
    assert lake.look().figure(count) == 1
    facts = lake.look().facts("silver.sessions")
    assert facts is not None
    assert facts.rows == 1


def test_snapshot_keeps_table_version_of_first_read(lake: Lake, tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    look = lake.look()
    assert look.figure(lambda ask: ask(SESSIONS).height) == 1
    for number in range(2, 6):
        append_rows(tmp_path, "silver.sessions", [session(number)])
        assert lake.look().figure(CountingFigure()) == number
    by_another = Query("silver.sessions", (), (Measure("n", "count"),))
    assert look.figure(lambda ask: ask(by_another)["n"][0]) == 1


def test_recreated_table_with_same_version_is_read_again(lake: Lake, tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    count = CountingFigure()
    assert lake.look().figure(count) == 1
    shutil.rmtree(tmp_path / "warehouse")
    assert lake.look().figure(count) == 0
    append_rows(tmp_path, "silver.sessions", [session(1), session(2)])
    assert lake.look().figure(count) == 2


def test_unreadable_table_keeps_last_figure_and_is_reported(lake: Lake, tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    count = CountingFigure()
    lake.look().figure(count)
    append_rows(tmp_path, "silver.sessions", [session(2)])
    for file in (tmp_path / "warehouse").rglob("*.parquet"):
        file.unlink()
    look = lake.look()
    assert look.figure(count) == 1
    assert look.unreadable == {"silver.sessions"}


def test_cached_figures_are_limited_by_bytes(tmp_path: Path) -> None:
    lake = Lake(LocalTables(tmp_path), most_bytes=100_000)
    big = pl.DataFrame({"n": range(1000)})
    for number in range(200):
        lake.look().figure(lambda ask, _: big.clone(), number)
    assert 0 < len(lake._kept) < 20
    assert lake._bytes == sum(size for _, _, size in lake._kept.values()) <= 100_000
    assert len(lake._turns) <= len(lake._kept) + 1


def test_concurrent_viewers_share_one_computation(lake: Lake, tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    count, answers, start = CountingFigure(), [], threading.Barrier(10)

    def view() -> None:
        start.wait()
        answers.append(lake.look().figure(count))

    viewers = [threading.Thread(target=view) for _ in range(10)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    assert answers == [1] * 10
    assert count.calls == 1
