"""Subscribers keep exact copies of a table while connections are cut and servers are killed."""

import asyncio
import os
import random
import time
from pathlib import Path

import pytest

from kit.api_process import ApiProcess, api_process
from kit.live_table import NAME, LiveTable
from kit.subscribers import PROTOCOLS, Subscriber, all_have
from kit.webhook_subscriber import WebhookSubscriber

_CLIENTS, _CUTS, _KILLS = 50, 500, 10
_PAUSE = 0.25
"""Seconds between two commits, as the clients share the cores with the writer."""

pytestmark = pytest.mark.chaos


async def commit_until(table: LiveTable, until: float) -> None:
    """Commit until a time, with a compaction now and then."""
    number = 0
    while time.monotonic() < until:
        number += 1
        await asyncio.to_thread(table.compact if number % 50 == 0 else table.commit)
        await asyncio.sleep(_PAUSE)


async def cut_until(subscribers: list[Subscriber], until: float) -> None:
    """Cut connections at random times."""
    choices, left = random.Random(5), _CUTS
    while left:
        await asyncio.sleep(choices.uniform(0, 2) * max(until - time.monotonic(), 0) / left)
        before = sum(each.cuts for each in subscribers)
        choices.choice(subscribers).cut()
        left -= sum(each.cuts for each in subscribers) - before


async def kill_until(servers: list[ApiProcess], until: float) -> None:
    """Kill and restart the servers in turn, so that each holds the lease of webhooks at some time."""
    for left in range(_KILLS, 0, -1):
        await asyncio.sleep(max(until - time.monotonic(), 0) / (left + 1))
        server = servers[left % len(servers)]
        server.kill()
        await asyncio.to_thread(server.start)


async def run(
    table: LiveTable, subscribers: list[Subscriber], servers: list[ApiProcess], seconds: float
) -> None:
    """Commit, cut and kill concurrently, then wait until each subscriber has the last version."""
    tasks = [asyncio.ensure_future(each.run()) for each in subscribers]
    await all_have(subscribers, tasks, 0)
    until = time.monotonic() + seconds
    await asyncio.gather(
        commit_until(table, until), cut_until(subscribers, until), kill_until(servers, until)
    )
    await all_have(subscribers, tasks, table.version)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_subscribers_match_table_after_cuts_and_server_kills(tmp_path: Path) -> None:
    """50 clients of each protocol and 50 webhooks, 500 cuts, one of two servers killed 10 times."""
    table = LiveTable(tmp_path, rows=1_000)
    seconds = float(os.environ.get("MILLRACE_TEST_SECONDS", "600"))
    with api_process(tmp_path) as first, api_process(tmp_path) as second:
        urls = [first.url, second.url]
        subscribers = [
            protocol(urls, NAME) for protocol in (*PROTOCOLS, WebhookSubscriber) for _ in range(_CLIENTS)
        ]
        asyncio.run(run(table, subscribers, [first, second], seconds))
    for each in subscribers:
        assert each.fold.reason is None, each.fold.reason
        each.fold.assert_right(table.digests)
    assert sum(each.cuts for each in subscribers) == _CUTS
