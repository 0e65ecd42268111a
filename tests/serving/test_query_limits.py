"""Queries end at their limits of time, memory and result size, and wait for their turn."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kit.access import ROLES, policy
from kit.warehouse_builder import append_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.errors import MillraceError
from serving.admission import admit
from serving.query_limits import QueryLimits, QueryRunner, TryLaterError
from serving.sources.query_result import compute
from serving.stream.hub import Hub, Limits, Wanted

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
    return compute(home / "warehouse", admit(sql), {NAME: 0}, role, QueryRunner(limits)).to_pylist()


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


def test_query_waits_for_its_turn_and_is_told_to_come_later() -> None:
    runner = QueryRunner(QueryLimits(seconds=0.2, at_once=1))
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with runner.connection():
            holds.set()
            done.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    holds.wait(10)
    with pytest.raises(TryLaterError), runner.connection():
        pass
    done.set()
    other.join()
    with runner.connection() as connection:
        assert runner.fetch(connection, "SELECT 1 AS n").to_pylist() == [{"n": 1}]


def test_waiting_queries_hold_no_thread_of_requests_for_tables(home: Path, tmp_path: Path) -> None:
    role = Role("admin", MaskKey(tmp_path))
    endless = Wanted(sql=f"SELECT count(*) AS n FROM {PRODUCT}")

    async def open_table_beside_queries() -> float:
        hub = Hub(home / "warehouse", Limits(query=QueryLimits(seconds=3.0)))
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
        hub = Hub(home / "warehouse", Limits(channels=5, channels_of_reader=3))
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
