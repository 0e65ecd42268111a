"""Snapshots are read once for all; messages of a large one are made for each subscriber, as it takes them."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from serving.sources.row_changes import Position
from serving.sources.table_source import TableSource
from serving.stream.byte_budget import ByteBudget
from serving.stream.messages import Message
from serving.stream.resume_token import Subject
from serving.stream.snapshots import Snapshots

NAME = "gold.things"
AT, LATER = {NAME: 1}, {NAME: 2}
SUBJECT = Subject("0123abcd", (), {NAME: "ab"})


class CountedSource(TableSource):
    """Rows of 1 KiB, in chunks of 100; counts how often they are read, and the chunks that are taken."""

    def __init__(self, chunks: int) -> None:
        self.reads = 0
        self.taken = 0
        self._chunks = chunks

    def rows(self, position: Position, reader: str = "") -> Any:
        del position, reader
        self.reads += 1
        return CountedRows(self)

    def lines(self) -> Iterator[bytes]:
        for _ in range(self._chunks):
            self.taken += 1
            yield b"\n".join([b'"%s"' % (b"x" * 1022)] * 100)


@dataclass
class CountedRows:
    """The rows of a source."""

    source: CountedSource

    def lines(self) -> Iterator[bytes]:
        yield from self.source.lines()


async def take(messages: AsyncGenerator[Message, None], count: int) -> list[Message]:
    return [await anext(messages) for _ in range(count)]


async def take_all(messages: AsyncGenerator[Message, None]) -> list[Message]:
    return [each async for each in messages]


def test_small_snapshot_is_read_once_for_all() -> None:
    async def run() -> list[list[Message]]:
        snapshots = Snapshots(source, ByteBudget())
        return [await take_all(snapshots.read(SUBJECT, AT)) for _ in range(20)]

    source = CountedSource(5)
    found = asyncio.run(run())
    assert (source.reads, source.taken) == (1, 5)
    assert [each.kind for each in found[-1]] == ["reset", *["rows"] * 5]
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(("chunks", "budget"), [(100, None), (5, 1000)], ids=["too large", "no room"])
def test_subscribers_take_what_they_get_of_a_snapshot_that_is_not_shared(
    chunks: int, budget: int | None
) -> None:
    async def run() -> list[Message]:
        snapshots, open_ = Snapshots(source, ByteBudget(budget)), []
        for _ in range(20):
            open_.append(snapshots.read(SUBJECT, AT))
            await take(open_[-1], 2)
        found = await take_all(snapshots.read(SUBJECT, LATER))
        for each in open_:
            await each.aclose()
        return found

    source = CountedSource(chunks)
    found = asyncio.run(run())
    assert source.reads <= 3, "once for all who take them at the same time"
    assert source.taken <= 12 + 20 * 3 + chunks
    assert [each.kind for each in found] == ["reset", *["rows"] * chunks]
    assert found[-1].position == SUBJECT.token(LATER)
    assert not any(each.position for each in found[:-1])
