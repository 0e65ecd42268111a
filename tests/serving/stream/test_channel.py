"""A channel publishes each group once, also when reading fails in between."""

import asyncio
import gc
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pytest

from kit.polling import eventually_async
from serving.query_limits import TryLaterError
from serving.sources.row_changes import ChangeGroup, Position
from serving.sources.stored_rows import StoredRows
from serving.stream.byte_budget import ByteBudget
from serving.stream.channel import Channel

NAME = "gold.things"


class FailingSource:
    """A table with three new versions, of which the second cannot be read at the first attempt."""

    tables: tuple[str, ...] = (NAME,)
    key: tuple[str, ...] = ()

    def __init__(self, error: Exception) -> None:
        self.version = 0
        self.failures = 1
        self._error = error

    def latest(self, known: Position | None) -> dict[str, int]:
        del known
        return {NAME: self.version}

    def first(self) -> Position:
        return self.latest(None)

    def identities(self) -> dict[str, str]:
        return {NAME: "ab"}

    def written_at(self, position: Position) -> tuple[int, ...]:
        return tuple(position.values())

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        for version in range(after[NAME] + 1, upto[NAME] + 1):
            if version == 2 and self.failures:
                self.failures -= 1
                raise self._error
            yield ChangeGroup([], {NAME: version})

    def rows(self, position: Position, reader: str = "") -> StoredRows:
        del position, reader
        return StoredRows(())


class CountedSource(FailingSource):
    """A table that counts how often its log is read."""

    looks = 0

    def latest(self, known: Position | None) -> dict[str, int]:
        self.looks += 1
        return super().latest(known)


@contextmanager
def stopping(channel: Channel) -> Iterator[None]:
    """The channel is stopped at the end of the block."""
    try:
        yield
    finally:
        channel.stop()


@pytest.mark.parametrize("error", [OSError("the disk is busy"), TryLaterError("queries wait", "Later")])
def test_groups_before_an_error_are_published_once(error: Exception) -> None:
    async def run() -> list[Mapping[str, int]]:
        source = FailingSource(error)
        channel = Channel(source, "0123abcd", 1 << 20, 0.01)
        with stopping(channel), channel.attendance.subscriber():
            await eventually_async(lambda: channel.position == {NAME: 0})
            source.version = 3
            await eventually_async(lambda: channel.position == {NAME: 3})
            return [each.group.position for each in channel.all_since(0)]

    assert asyncio.run(run()) == [{NAME: 1}, {NAME: 2}, {NAME: 3}]


def test_channels_keep_few_bytes_together() -> None:
    async def run() -> tuple[list[int], int]:
        budget, kept = ByteBudget(300), []
        channels = [Channel(FailingSource(OSError()), "0123abcd", 1 << 20, 0.01, budget) for _ in range(2)]
        with ExitStack() as stack:
            for channel in channels:
                source = channel.source
                assert isinstance(source, FailingSource)
                stack.enter_context(stopping(channel))
                stack.enter_context(channel.attendance.subscriber())
                await eventually_async(lambda each=channel: each.position == {NAME: 0})
                source.version = 3
                await eventually_async(lambda each=channel: each.position == {NAME: 3})
                kept.append(len(channel.all_since(0)))
        return kept, budget.used

    assert asyncio.run(run()) == ([1, 1], 0)


def test_channel_without_subscribers_reads_nothing() -> None:
    async def run() -> tuple[list[int], Position | None]:
        source, pause, looks = CountedSource(OSError()), 0.3, []
        channel = Channel(source, "0123abcd", 1 << 20, 0.01)
        with stopping(channel):
            await channel.news_within(pause)
            looks.append(source.looks)
            with channel.attendance.subscriber():
                await eventually_async(lambda: source.looks > 3)
            await channel.news_within(pause)  # a look that had begun may end
            looks.append(source.looks)
            await channel.news_within(pause)
            looks.append(source.looks)
            source.version = 1
            with channel.attendance.subscriber():
                await channel.look_within(10)
                return looks, channel.position

    (first, second, third), position = asyncio.run(run())
    assert first == 0
    assert second == third > 3
    assert position == {NAME: 1}


def test_channel_keeps_the_messages_of_its_latest_groups_only() -> None:
    """They take several times the memory of the changes, and only late subscribers need earlier ones."""

    async def run() -> list[bool]:
        source = FailingSource(OSError())
        source.failures = 0
        channel = Channel(source, "0123abcd", 1 << 20, 0.01)
        with stopping(channel), channel.attendance.subscriber():
            await eventually_async(lambda: channel.position == {NAME: 0})
            source.version = 20
            await eventually_async(lambda: channel.position == {NAME: 20})
            groups = channel.all_since(0)
            assert all(each.messages == [] for each in groups)
            return [each._messages is not None for each in groups]

    assert asyncio.run(run()) == [False] * 12 + [True] * 8


def test_failed_channel_is_freed_without_a_garbage_collection() -> None:
    """Its results count as kept until then."""

    async def run() -> "weakref.ref[FailingSource]":
        source = FailingSource(TryLaterError("queries wait", "Later"))
        source.failures = 1_000
        channel, freed = Channel(source, "0123abcd", 1 << 20, 0.01), weakref.ref(source)
        with stopping(channel), channel.attendance.subscriber():
            await eventually_async(lambda: channel.position is not None)
            source.version = 3
            await eventually_async(lambda: channel.failure is not None)
        channel._thread.join()
        return freed

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(run())() is None
    finally:
        gc.enable()


def test_returning_subscriber_gets_a_position_of_now() -> None:
    """Otherwise a poll that waits for nothing would always be told what the poll before it could have had."""

    async def run() -> list[Position | None]:
        source, positions = FailingSource(OSError()), []
        source.failures = 0
        channel = Channel(source, "0123abcd", 1 << 20, 60.0)
        with stopping(channel):
            for version in range(3):
                source.version = version
                with channel.attendance.subscriber():
                    await channel.look_within(10)
                    positions.append(channel.position)
        return positions

    assert asyncio.run(run()) == [{NAME: 0}, {NAME: 1}, {NAME: 2}]
