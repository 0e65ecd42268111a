"""Polls that do not wait, against a simulated table."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

import pyarrow as pa

from kit.polling import eventually_async
from serving.sources.row_changes import ChangeGroup, Position, RowChange
from serving.sources.stored_rows import StoredRows
from serving.stream.channel import Channel
from serving.stream.messages import Message
from serving.stream.subscription import Subscription, Terms

NAME = "gold.things"


class ChangingTable:
    """A table of one row, which changes with each version."""

    tables: tuple[str, ...] = (NAME,)
    key: tuple[str, ...] = ("id",)
    version = 0

    def latest(self, known: Position | None) -> dict[str, int]:
        del known
        return {NAME: self.version}

    def first(self) -> Position:
        return self.latest(None)

    def identities(self) -> Mapping[str, str]:
        return {NAME: "ab"}

    def written_at(self, position: Position) -> tuple[int, ...]:
        return tuple(position.values())

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        for version in range(after[NAME] + 1, upto[NAME] + 1):
            row = b'{"id":1,"version":%d}' % version
            yield ChangeGroup([RowChange(b'{"id":1}', None, row)], {NAME: version})

    def rows(self, position: Position, reader: str = "") -> StoredRows:
        del reader
        return StoredRows([pa.table({"id": [1], "version": [position[NAME]]})])


async def poll(channel: Channel, after: str | None) -> Message:
    """The last message of a poll with `wait=0`."""
    messages: AsyncGenerator[Message, None] = Subscription(channel, after, Terms(heartbeat=0.0)).messages()
    async with aclosing(messages):
        async for message in messages:
            if message.ends_poll:
                return message
    raise AssertionError("messages never end")


async def polls_after_two_commits() -> list[tuple[str, Any]]:
    """Type and versions of each poll, which continues after the one before it."""
    table: Any = ChangingTable()
    channel, found = Channel(table, "0123abcd", 1 << 20, 0.01), []
    with channel.attendance.subscriber():  # so that the channel keeps its groups
        try:
            last = await poll(channel, None)
            table.version = 2
            await eventually_async(lambda: channel.position == {NAME: 2})
            for _ in range(3):
                last = await poll(channel, last.position)
                found.append((last.kind, last.content["versions"]))
        finally:
            channel.stop()
    return found


def test_poll_without_waiting_returns_waiting_changes_and_only_then_a_heartbeat() -> None:
    assert asyncio.run(polls_after_two_commits()) == [
        ("changes", {NAME: 1}),
        ("changes", {NAME: 2}),
        ("heartbeat", {NAME: 2}),
    ]
