"""A channel publishes each group once, also when reading fails in between."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from kit.polling import eventually_async
from serving.sources.row_changes import ChangeGroup, Position
from serving.stream.channel import Channel

NAME = "gold.things"


class FailingSource:
    """A table with three new versions, of which the second cannot be read at the first attempt."""

    tables: tuple[str, ...] = (NAME,)
    key: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.version = 0
        self.failures = 1

    def latest(self, known: Position | None) -> dict[str, int]:
        del known
        return {NAME: self.version}

    def identities(self) -> dict[str, str]:
        return {NAME: "ab"}

    def written_at(self, position: Position) -> tuple[int, ...]:
        return tuple(position.values())

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        for version in range(after[NAME] + 1, upto[NAME] + 1):
            if version == 2 and self.failures:
                self.failures -= 1
                raise OSError("the disk is busy")
            yield ChangeGroup([], {NAME: version})

    def rows(self, position: Position) -> Iterator[Sequence[bytes]]:
        del position
        yield from ()


def test_groups_before_an_error_are_published_once() -> None:
    async def run() -> list[Mapping[str, int]]:
        source = FailingSource()
        channel = Channel(source, "0123abcd", 1 << 20, 0.01)
        try:
            await eventually_async(lambda: channel.position == {NAME: 0})
            source.version = 3
            await eventually_async(lambda: channel.position == {NAME: 3})
            return [each.group.position for each in channel.all_since(0)]
        finally:
            channel.stop()

    assert asyncio.run(run()) == [{NAME: 1}, {NAME: 2}, {NAME: 3}]
