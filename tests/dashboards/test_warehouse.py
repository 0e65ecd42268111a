import shutil
from pathlib import Path

import polars as pl
import pytest
from columns import COLUMNS
from warehouse import Warehouse

from kit.warehouse_builder import append_rows, replace_rows

SESSIONS = ["silver.sessions"]


class Count:
    """A question that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, frame: pl.LazyFrame) -> int:
        self.asked += 1
        return frame.collect().height


def session(number: int, is_open: bool = True) -> dict[str, object]:
    return {"session_id": f"s{number}", "visitor_id": "v", "is_open": is_open}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_missing_table_is_empty_with_the_columns_of_its_contract(name: str, tmp_path: Path) -> None:
    lake = Warehouse(tmp_path / "nowhere")
    assert lake.answer(lambda frame: dict(frame.collect_schema()), [name]) == COLUMNS[name]
    assert lake.rows(name) == 0


def test_an_unchanged_table_is_not_read_again(tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    lake, count = Warehouse(tmp_path / "warehouse"), Count()
    assert [lake.answer(count, SESSIONS) for _ in range(5)] == [1] * 5
    assert count.asked == 1


def test_a_changed_table_is_read_again(tmp_path: Path) -> None:
    lake, count = Warehouse(tmp_path / "warehouse"), Count()
    assert lake.answer(count, SESSIONS) == 0
    append_rows(tmp_path, "silver.sessions", [session(1), session(2, is_open=False)])
    assert lake.answer(count, SESSIONS) == 2
    replace_rows(tmp_path, "silver.sessions", [session(3)])
    assert lake.answer(count, SESSIONS) == 1
    assert lake.rows("silver.sessions") == 1


def test_a_table_made_anew_is_seen_though_its_version_is_the_same(tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    lake, count = Warehouse(tmp_path / "warehouse"), Count()
    assert lake.answer(count, SESSIONS) == 1
    shutil.rmtree(tmp_path / "warehouse")
    assert lake.answer(count, SESSIONS) == 0
    append_rows(tmp_path, "silver.sessions", [session(1), session(2)])
    assert lake.answer(count, SESSIONS) == 2


def test_a_table_that_breaks_keeps_its_last_answer_and_is_named(tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.sessions", [session(1)])
    lake, count = Warehouse(tmp_path / "warehouse"), Count()
    lake.answer(count, SESSIONS)
    append_rows(tmp_path, "silver.sessions", [session(2)])
    for file in (tmp_path / "warehouse").rglob("*.parquet"):
        file.unlink()
    assert lake.answer(count, SESSIONS) == 1
    assert lake.unreadable == SESSIONS


def test_answers_do_not_pile_up(tmp_path: Path) -> None:
    lake = Warehouse(tmp_path)
    for number in range(1000):
        lake.answer(lambda frame, asked: asked, SESSIONS, number)
    assert len(lake._answers) < 200
