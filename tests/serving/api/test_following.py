"""Subscribers of each protocol reconstruct the table at every version, also when connections are cut."""

import asyncio
import random
import shutil
from pathlib import Path

from kit.api_process import api_process
from kit.live_table import NAME, LiveTable
from kit.polling import eventually_async
from kit.subscribers import PROTOCOLS, Subscriber, all_have


async def follow(table: LiveTable, subscribers: list[Subscriber], commits: int, cuts: int) -> None:
    """Commit to a table while subscribers follow it, and cut connections at random."""
    tasks = [asyncio.ensure_future(each.run()) for each in subscribers]
    choices = random.Random(3)
    await all_have(subscribers, tasks, table.version)
    for number in range(commits):
        await asyncio.to_thread(table.compact if number % 10 == 9 else table.commit)
        for _ in range(cuts // commits):
            choices.choice(subscribers).cut()
    await all_have(subscribers, tasks, table.version)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_folded_changes_equal_every_table_version_despite_connection_cuts(tmp_path: Path) -> None:
    table = LiveTable(tmp_path, rows=2_000)
    with api_process(tmp_path) as first, api_process(tmp_path) as second:
        subscribers = [protocol([first.url, second.url], NAME) for protocol in PROTOCOLS for _ in range(3)]
        asyncio.run(follow(table, subscribers, commits=30, cuts=60))
    for each in subscribers:
        each.fold.assert_right(table.digests)
    assert sum(each.cuts for each in subscribers) > 50  # a cut without an open connection is not counted


def test_recreated_table_with_same_version_is_read_from_the_start(tmp_path: Path) -> None:
    table = LiveTable(tmp_path, rows=20)

    async def run(subscribers: list[Subscriber]) -> LiveTable:
        tasks = [asyncio.ensure_future(each.run()) for each in subscribers]
        await all_have(subscribers, tasks, table.version)
        shutil.rmtree(table.folder)
        again = LiveTable(tmp_path, rows=30, seed=2)
        assert again.version == table.version
        await eventually_async(
            lambda: all(len(each.fold.rows) == 30 for each in subscribers), what="its rows"
        )
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return again

    with api_process(tmp_path) as server:
        subscribers: list[Subscriber] = [protocol([server.url], NAME) for protocol in PROTOCOLS]
        again = asyncio.run(run(subscribers))
    for each in subscribers:
        assert each.fold.digests[-1] == (again.version, again.digests[again.version])
