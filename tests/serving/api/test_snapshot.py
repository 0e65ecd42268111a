"""A snapshot and the changes after it have neither gap nor overlap."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.api_process import ApiProcess, api_process
from kit.live_table import NAME, LiveTable
from kit.polling import eventually_async
from kit.subscribers import PROTOCOLS, EventSubscriber, Subscriber, all_have

_SECONDS = 500.0


async def follow_during_snapshot(table: LiveTable, subscriber: Subscriber, commits: int) -> None:
    """Commit while a subscriber reads a snapshot."""
    task = asyncio.ensure_future(subscriber.run())
    await eventually_async(lambda: subscriber.fold.kinds.get("rows"), _SECONDS, "the first rows")
    for _ in range(commits):
        await asyncio.to_thread(table.commit, 5, 10, 5)
    if isinstance(subscriber, EventSubscriber) and subscriber.pause is not None:
        assert subscriber.fold.version < 0, "the snapshot has ended before the changes"
        subscriber.pause.set()
    await all_have([subscriber], [task], table.version)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> LiveTable:
    return LiveTable(tmp_path_factory.mktemp("home"), rows=20_000)


@pytest.fixture(scope="module")
def server(table: LiveTable) -> Iterator[ApiProcess]:
    with api_process(table.folder.parents[2]) as server:
        yield server


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_commits_during_snapshot_are_delivered_after_it(
    table: LiveTable, server: ApiProcess, protocol: type[Subscriber]
) -> None:
    subscriber = protocol([server.url], NAME)
    asyncio.run(follow_during_snapshot(table, subscriber, commits=5))
    subscriber.fold.assert_right(table.digests)
    assert len(subscriber.fold.rows) == len(table.rows)


@pytest.mark.long
def test_commits_during_million_row_snapshot_are_delivered_after_it(tmp_path: Path) -> None:
    table = LiveTable(tmp_path, rows=int(os.environ.get("MILLRACE_TEST_ROWS", "1000000")))
    with api_process(tmp_path, "--send-timeout", "300") as server:
        subscriber = EventSubscriber([server.url], NAME)
        subscriber.pause = asyncio.Event()
        asyncio.run(follow_during_snapshot(table, subscriber, commits=50))
    subscriber.fold.assert_right(table.digests)
    assert len(subscriber.fold.rows) == len(table.rows)
    assert subscriber.fold.digests[0][0] == table.version - 50
