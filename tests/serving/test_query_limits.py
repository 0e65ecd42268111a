"""Queries end at their limits of time, memory and result size, and wait for their turn."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kit.access import ROLES, policy
from kit.fork_servers import fork_servers, new_fork_server
from kit.polling import eventually
from kit.warehouse_builder import append_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables
from serving.admission import admit
from serving.processes.query_processes import QueryProcesses
from serving.processes.result import Result
from serving.processes.spill import SpillFolders
from serving.processes.turns import Turns
from serving.query_limits import QueryLimits, QueryRunner, TryLaterError
from serving.reader_budget import ReaderBudget
from serving.sources.query_result import Part, compute, result_parts
from serving.stream.hub import Hub, Limits
from serving.stream.wanted import Wanted

NAME = "gold.touches"
ROWS = 300
PRODUCT = ", ".join(f"{NAME} AS t{number}" for number in range(5))
"""300^5 rows: a query of 40 bytes that never ends."""
LIMITS = QueryLimits(seconds=2.0, memory=64 << 20, disk=1 << 20, rows=1000, result_bytes=1 << 20)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    rows = [{"visitor_id": f"v{number}", "touch_id": f"t{number}"} for number in range(ROWS)]
    append_rows(home, NAME, rows)
    return home


def run(home: Path, sql: str, role: Role | None = None, limits: QueryLimits = LIMITS) -> list[dict[str, Any]]:
    with SpillFolders(limits, home / "queries").folder() as spill:
        runner = QueryRunner(limits, spill)
        return compute(FolderTables(home / "warehouse"), admit(sql), {NAME: 0}, role, runner).to_pylist()


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (f"SELECT count(*) AS n FROM {PRODUCT}", "took more than 2 s"),
        (
            f"SELECT list(t0.touch_id ORDER BY t0.touch_id) AS l FROM {PRODUCT}",
            "64 MiB of memory and 1 MiB",
        ),
        (f"SELECT t0.touch_id AS a, t1.touch_id AS b FROM {PRODUCT}", "more than 1,000 rows or 1 MiB"),
        (f"SELECT repeat('x', 10000) || touch_id AS a FROM {NAME}", "more than 1,000 rows or 1 MiB"),
    ],
)
def test_query_beyond_a_limit_is_ended_with_the_reason(
    home: Path, tmp_path: Path, sql: str, problem: str, restricted: bool
) -> None:
    role = policy(tmp_path, ROLES).role("analyst") if restricted else None
    since = time.monotonic()
    with pytest.raises(MillraceError, match=problem):
        run(home, sql, role)
    assert time.monotonic() - since < 10


def test_query_within_the_limits_gives_its_whole_result(home: Path) -> None:
    assert len(run(home, f"SELECT touch_id, visitor_id FROM {NAME}")) == ROWS


def test_reader_has_one_turn_and_others_theirs() -> None:
    turns = Turns(QueryLimits(seconds=0.2, at_once=2))
    with turns.turn("one"):
        with pytest.raises(TryLaterError), turns.turn("one"):
            pass
        with turns.turn("two"), pytest.raises(TryLaterError), turns.turn("three"):
            pass
        with turns.turn("three"):
            pass
    with turns.turn("one"):
        pass


def test_few_queries_of_a_reader_wait() -> None:
    turns, refused = Turns(QueryLimits(seconds=60.0, waiting=2)), []

    def wait() -> None:
        try:
            with turns.turn("one"):
                pass
        except TryLaterError as error:
            refused.append(error)

    with turns.turn("one"):
        threads = [threading.Thread(target=wait) for _ in range(5)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(refused) == 3)
    for thread in threads:
        thread.join()
    assert len(refused) == 3


def test_reader_with_waiting_queries_gives_way_to_other_readers() -> None:
    turns, given = Turns(QueryLimits(seconds=60.0, at_once=2)), []

    def take_turn() -> None:
        with turns.turn("one") as gives_way:
            given.append(gives_way)

    with turns.turn("other") as gives_way:
        assert not gives_way
        with turns.turn("one"):
            threads = [threading.Thread(target=take_turn) for _ in range(3)]
            for thread in threads:
                thread.start()
            eventually(lambda: turns._waiting["one"] == 3)
        for thread in threads:
            thread.join()
    assert given == [True, True, False]


def test_results_are_limited_in_total_and_by_reader() -> None:
    budget = ReaderBudget(50, 30)
    part = Part(b"x" * 20, None)
    first = Result([["a"], part], budget, "one")
    with pytest.raises(TryLaterError):
        Result([["a"], part], budget, "one")
    second = Result([["a"], part], budget, "two")
    with pytest.raises(TryLaterError):
        Result([["a"], part], budget, "three")
    del first
    Result([["a"], part], budget, "one")
    assert list(second.lines()) == [part.rows]


def test_result_that_fails_counts_no_longer_while_its_error_is_known() -> None:
    budget, part = ReaderBudget(50), Part(b"x" * 20, None)
    with pytest.raises(TryLaterError) as error:
        Result([["a"], part, part, part], budget, "one")
    assert list(Result([["a"], part, part], budget, "two").lines()) == [part.rows] * 2
    assert error.tb is not None


@pytest.fixture(scope="module")
def processes() -> Iterator[QueryProcesses]:
    found = QueryProcesses(LIMITS)
    yield found
    found.stop()


def test_process_gives_the_result_of_the_query(home: Path, processes: QueryProcesses) -> None:
    sql = f"SELECT visitor_id, count(*) AS touches FROM {NAME} GROUP BY visitor_id"
    opened = processes.open(FolderTables(home / "warehouse"), sql, None, "one")
    again = processes.compute(FolderTables(home / "warehouse"), opened.query, {NAME: 0}, None, "one")
    here = Result(result_parts(FolderTables(home / "warehouse"), admit(sql), {NAME: 0}))
    assert (opened.versions, opened.query.tables) == ({NAME: 0}, (NAME,))
    assert opened.result.columns == again.columns == here.columns == ["visitor_id", "touches"]
    assert sorted(opened.result.keyed()) == sorted(again.keyed()) == sorted(here.keyed())


def test_answer_does_not_wait_for_the_end_of_its_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next query of its reader does."""
    may_end, tables = threading.Event(), FolderTables(home / "warehouse")

    def await_end(connection: object) -> None:
        assert may_end.wait(30)

    monkeypatch.setattr("serving.processes.fork_server._await_end", await_end)
    found = QueryProcesses(QueryLimits(seconds=0.5))
    try:
        sql = f"SELECT count(*) AS n FROM {NAME}"
        assert list(found.open(tables, sql, None, "one").result.lines()) == [b'{"n":300}']
        with pytest.raises(TryLaterError, match="too many queries run"):
            found.open(tables, sql, None, "one")
        may_end.set()
        assert list(found.open(tables, sql, None, "one").result.lines()) == [b'{"n":300}']
    finally:
        may_end.set()
        found.stop()


@pytest.mark.parametrize("key", ["", " GROUP BY ALL"], ids=["without a key", "with a key"])
def test_result_is_in_few_parts(home: Path, key: str) -> None:
    sql = f"SELECT touch_id, visitor_id, repeat('x', 1000) AS text FROM {NAME}{key}"
    _, *parts = result_parts(FolderTables(home / "warehouse"), admit(sql), {NAME: 0})
    rows = [row for part in parts if isinstance(part, Part) for _, row in part.keyed()]
    assert len(parts) <= 10
    assert sorted(json.loads(row)["touch_id"] for row in rows) == sorted(f"t{each}" for each in range(ROWS))


def test_small_rows_are_joined_to_few_parts(home: Path) -> None:
    sql = f"SELECT t0.touch_id AS a, t1.touch_id AS b FROM {NAME} AS t0, {NAME} AS t1"
    _, *parts = result_parts(FolderTables(home / "warehouse"), admit(sql), {NAME: 0})
    sizes = [part.size for part in parts if isinstance(part, Part)]
    assert all(size >= 32 << 10 for size in sizes[:-1])
    assert max(sizes) < 64 << 10
    assert sum(len(list(part.keyed())) for part in parts if isinstance(part, Part)) == ROWS**2


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (f"SELECT count(*) AS n FROM {PRODUCT}", "took more than 2 s|MiB of memory"),
        (f"SELECT {'+'.join(['1'] * 900)} AS n FROM {NAME}", "nested too deeply"),
        (f"SELECT {'(' * 2000}1{')' * 2000} AS n FROM {NAME}", "expression depth"),
        ("SELECT 1 AS n", "reads no table"),
    ],
)
def test_process_gives_the_reason_why_a_query_fails(
    home: Path, processes: QueryProcesses, sql: str, problem: str
) -> None:
    with pytest.raises(MillraceError, match=problem):
        processes.open(FolderTables(home / "warehouse"), sql, None, "one")


@pytest.fixture
def own_processes() -> Iterator[QueryProcesses]:
    found = QueryProcesses(LIMITS)
    yield found
    found.stop()


def test_fork_server_is_started_again_after_it_was_killed(home: Path, own_processes: QueryProcesses) -> None:
    sql, tables, before = f"SELECT touch_id FROM {NAME}", FolderTables(home / "warehouse"), fork_servers()
    own_processes.open(tables, sql, None, "one")
    server = new_fork_server(before)
    server.kill()
    server.wait()
    assert len(list(own_processes.open(tables, sql, None, "one").result.keyed())) == ROWS


def test_stopped_fork_server_leaves_no_zombie() -> None:
    found, before = QueryProcesses(LIMITS), set(psutil.Process().children())
    found.start()
    assert set(psutil.Process().children()) > before
    found.stop()
    assert set(psutil.Process().children()) <= before


def test_waiting_queries_hold_no_thread_of_requests_for_tables(home: Path, tmp_path: Path) -> None:
    role = Role("admin", MaskKey(tmp_path))
    endless = Wanted(sql=f"SELECT count(*) AS n FROM {PRODUCT}")

    async def open_table_beside_queries() -> float:
        hub = Hub(FolderTables(home / "warehouse"), Limits(query=QueryLimits(seconds=3.0)))
        waiting = [asyncio.create_task(hub.open_source(endless, role)) for _ in range(40)]
        await asyncio.sleep(0)
        since = time.monotonic()
        await hub.open_source(Wanted(NAME), role)
        took = time.monotonic() - since
        hub.stop()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return took

    assert asyncio.run(open_table_beside_queries()) < 2


def test_channels_are_limited_in_total_and_by_reader(home: Path, tmp_path: Path) -> None:
    role = Role("admin", MaskKey(tmp_path))

    async def open_all() -> tuple[list[str], int]:
        hub = Hub(FolderTables(home / "warehouse"), Limits(channels=5, channels_of_reader=3))
        refused = []
        try:
            for reader in ("one", "other"):
                for number in range(4):
                    wanted = Wanted(NAME, where={"visitor_id": [f"{reader} {number}"]})
                    try:
                        await hub.channel(wanted, role, reader)
                        await hub.channel(wanted, role, "third")  # the same channel once more
                    except TryLaterError:
                        refused.append(f"{reader} {number}")
            return refused, hub.channels
        finally:
            hub.stop()

    assert asyncio.run(open_all()) == (["one 3", "other 2", "other 3"], 5)
