"""Rows of a table are read with few columns, and take little memory however many subscribers are slow."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kit.access import policy
from kit.polling import eventually_async
from kit.warehouse_builder import append_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.contracts import TABLES
from lakehouse.contracts.table import Table
from lakehouse.readers.folder_tables import FolderTables
from serving.api.rows import open_rows
from serving.query_limits import TryLaterError
from serving.stream.hub import Hub, Limits
from serving.stream.messages import Message
from serving.stream.subscription import Terms
from serving.stream.wanted import Wanted

NAME = "gold.touches"
ROWS = 20_000
MASKED = f"roles: {{some: {{tables: [{NAME}], mask: {{kind: hide}}, rows: {{{NAME}: {{kind: [visit]}}}}}}}}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a table of 20 MB of text, which takes half as much compressed."""
    home, chance = tmp_path_factory.mktemp("home"), random.Random(1)
    for part in range(2):
        rows = (
            {
                "touch_id": f"{part}-{number}",
                "kind": ("visit", "view")[number % 2],
                "click_id": f"{chance.getrandbits(4_000):x}",
            }
            for number in range(ROWS // 2)
        )
        append_rows(home, NAME, rows)
    return home


@pytest.fixture
def admin(tmp_path: Path) -> Role:
    return Role("admin", MaskKey(tmp_path))


class RecordedTables(FolderTables):
    """Tables that record which columns of rows are read."""

    columns: list[tuple[str, ...]] = []  # noqa: RUF012 - of one test

    def rows(self, table: Table, version: int) -> Iterator[pa.Table]:
        self.columns.append(tuple(table.column_names))
        return super().rows(table, version)


@contextmanager
def hub_of(home: Path, **limits: Any) -> Iterator[Hub]:
    hub = Hub(RecordedTables(home / "warehouse"), Limits(**limits))
    RecordedTables.columns.clear()
    try:
        yield hub
    finally:
        hub.stop()


async def subscribed(hub: Hub, wanted: Wanted, role: Role, reader: str = "") -> AsyncGenerator[Message, None]:
    """The messages of a subscription after the first rows."""
    messages = (await hub.subscribe(wanted, role, None, Terms(), reader)).messages()
    assert [(await anext(messages)).kind for _ in range(2)] == ["reset", "rows"]
    return messages


def read(hub: Hub, wanted: Wanted, role: Role, reader: str = "") -> list[dict[str, Any]]:
    """The rows as the API answers them."""
    opened = open_rows(hub, wanted, None, role, reader)
    text = opened.first + b"".join(opened.rest or ())
    return [json.loads(line) for line in text.splitlines()]


def test_streams_that_take_nothing_hold_little_memory(home: Path, admin: Role) -> None:
    async def held() -> int:
        with hub_of(home) as hub:
            before = pa.total_allocated_bytes()
            for part in range(3):
                wanted = Wanted(NAME, where={"touch_id": {"gte": str(part)}})
                streams = [await subscribed(hub, wanted, admin) for _ in range(3)]
            opened = [open_rows(hub, Wanted(NAME), None, admin, "") for _ in range(3)]
            found = pa.total_allocated_bytes() - before
            assert all(each.rest for each in opened)
            for stream in streams:
                await stream.aclose()
            return found

    assert asyncio.run(held()) < 2 << 20


def test_rows_are_read_in_small_parts(home: Path) -> None:
    before = pa.total_allocated_bytes()
    parts = FolderTables(home / "warehouse").rows(TABLES[NAME], 1)
    assert [next(parts).num_rows for _ in range(2)] == [0, 2_048]
    assert pa.total_allocated_bytes() - before < 8 << 20
    assert sum(part.num_rows for part in parts) == ROWS - 2_048


@pytest.mark.parametrize(
    ("wanted", "columns"),
    [
        (Wanted(NAME, select=("touch_id",)), {"touch_id", "kind"}),
        (
            Wanted(NAME, select=("touch_id",), where={"click_id": {"gte": "8"}}),
            {"touch_id", "kind", "click_id"},
        ),
    ],
    ids=["select", "select and where"],
)
def test_only_columns_that_are_shown_or_in_a_condition_are_read(
    home: Path, tmp_path: Path, wanted: Wanted, columns: set[str]
) -> None:
    with hub_of(home) as hub:
        rows = read(hub, wanted, policy(tmp_path, MASKED).role("some"))
        assert [set(each) for each in RecordedTables.columns] == [columns]
    assert all(row.keys() == {"touch_id"} for row in rows)
    assert {int(row["touch_id"].partition("-")[2]) % 2 for row in rows} == {0}
    assert (len(rows) == ROWS // 2) is ("click_id" not in columns)


def test_unrestricted_reader_of_one_column_reads_one(home: Path, admin: Role) -> None:
    with hub_of(home) as hub:
        assert len(read(hub, Wanted(NAME, select=("touch_id",)), admin)) == ROWS
        assert RecordedTables.columns == [("touch_id",)]


def test_reader_of_too_many_rows_is_refused_with_advice_and_others_are_not(home: Path, admin: Role) -> None:
    async def run() -> None:
        with hub_of(home, rows_bytes_of_reader=15 << 20) as hub:
            streams = [
                await subscribed(hub, Wanted(NAME), admin, "one") for _ in range(2)
            ]  # of the same rows
            with pytest.raises(TryLaterError, match="with select and where"):
                read(hub, Wanted(NAME), admin, "one")
            streams.append(await subscribed(hub, Wanted(NAME, select=("touch_id",)), admin, "one"))
            streams.append(await subscribed(hub, Wanted(NAME, where={"kind": ["visit"]}), admin, "other"))
            for each in streams:
                await each.aclose()
            await eventually_async(lambda: not hub._rows._used)
            assert len(read(hub, Wanted(NAME), admin, "one")) == ROWS

    asyncio.run(run())
