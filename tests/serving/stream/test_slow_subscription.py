"""A subscription whose messages are not consumed, in one process."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from kit.live_table import NAME, LiveTable
from kit.polling import eventually_async
from kit.subscribers import Fold
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.readers.folder_tables import FolderTables
from serving.stream.hub import Hub, Limits
from serving.stream.messages import Message
from serving.stream.subscription import SlowSubscriberError, Subscription, Terms
from serving.stream.wanted import Wanted

BUDGET = 16 << 10


async def read_to(messages: AsyncGenerator[Message, None], fold: Fold, version: int) -> list[dict[str, Any]]:
    """Messages up to the position of a version."""
    found = []
    async for message in messages:
        found.append(json.loads(message.json))
        fold.take(found[-1])
        if fold.version == version:
            break
    return found


async def follow(table: LiveTable, hub: Hub, role: Role) -> None:
    wanted, fold = Wanted(NAME), Fold(NAME)
    channel = await hub.channel(wanted, role)
    slow = Subscription(channel, None, Terms(budget=BUDGET))
    messages = slow.messages()

    async def commit(count: int, **changes: int) -> None:
        for _ in range(count):
            version = table.commit(**changes)
            await eventually_async(lambda: (channel.position or {}).get(NAME) == version)  # noqa: B023

    await read_to(messages, fold, table.version)
    await commit(4, inserts=0, updates=30, deletes=0)
    found = await read_to(messages, fold, table.version)
    assert [each["type"] for each in found].count("warning") == 1
    assert [version for version, _ in fold.digests] == [1, table.version], "four commits are one group"
    assert fold.kinds["reset"] == 1
    fold.assert_right(table.digests)
    await commit(1, inserts=1, updates=0, deletes=0)
    await read_to(messages, fold, table.version)
    await commit(4, inserts=200, updates=0, deletes=0)
    with pytest.raises(SlowSubscriberError, match="wait, after conflation"):
        await read_to(messages, fold, table.version)
    resumed = Subscription(channel, channel.subject.token(slow._position), Terms(budget=BUDGET)).messages()
    await read_to(resumed, fold, table.version)
    await commit(1, inserts=800, updates=0, deletes=0)
    await read_to(resumed, fold, table.version)
    assert fold.kinds["reset"] == 1
    fold.assert_right(table.digests)
    others = Fold(NAME)
    await read_to(Subscription(channel, None, Terms()).messages(), others, table.version)
    others.assert_right(table.digests)


async def wait_for_interval(table: LiveTable, hub: Hub, role: Role) -> list[str]:
    """Types of the messages from a snapshot to the next group."""
    channel, fold = await hub.channel(Wanted(NAME), role), Fold(NAME)
    messages = Subscription(channel, None, Terms(interval=2.0, heartbeat=0.2)).messages()
    await read_to(messages, fold, table.version)
    return [each["type"] for each in await read_to(messages, fold, table.commit(inserts=1))]


def test_heartbeats_are_sent_while_changes_wait_for_the_interval(tmp_path: Path) -> None:
    table, hub = LiveTable(tmp_path), Hub(FolderTables(tmp_path / "warehouse"), Limits())
    table.commit(inserts=40, updates=0, deletes=0)

    async def run() -> list[str]:
        try:
            return await wait_for_interval(table, hub, Role("admin", MaskKey(tmp_path)))
        finally:
            hub.stop()

    *heartbeats, last = asyncio.run(run())
    assert (heartbeats[:3], last) == (["heartbeat"] * 3, "changes")


def test_slow_subscription_is_warned_gets_conflated_changes_fails_and_resumes(tmp_path: Path) -> None:
    table, hub = LiveTable(tmp_path), Hub(FolderTables(tmp_path / "warehouse"), Limits())
    table.commit(inserts=40, updates=0, deletes=0)

    async def run() -> None:
        try:
            await follow(table, hub, Role("admin", MaskKey(tmp_path)))
        finally:
            hub.stop()

    asyncio.run(run())
