"""A hub opens one channel for all who follow the same, and closes it when nobody has used it for a while."""

import asyncio
from pathlib import Path

import pytest

from kit.live_table import NAME, LiveTable
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.readers.folder_tables import FolderTables
from serving.query_limits import TryLaterError
from serving.sources.source import Source
from serving.stream.channel import Channel
from serving.stream.hub import Hub, Limits
from serving.stream.wanted import Wanted


def test_unused_channel_stays_open_for_a_subscriber_that_is_about_to_read(tmp_path: Path) -> None:
    table, hub = LiveTable(tmp_path), Hub(FolderTables(tmp_path / "warehouse"), Limits())
    table.commit(inserts=1, updates=0, deletes=0)
    wanted, role = Wanted(NAME), Role("admin", MaskKey(tmp_path))

    async def run() -> list[int]:
        found = []
        try:
            channel = await hub.channel(wanted, role)
            for subscribe in (True, False):
                channel.attendance._used_at = float("-inf")
                if subscribe:
                    await hub.channel(wanted, role)
                hub._close_unused(wanted.digest(role))
                found.append(hub.channels)
        finally:
            hub.stop()
        return found

    assert asyncio.run(run()) == [1, 0]


class BusyHub(Hub):
    """A hub that can't open the first source."""

    _is_busy = True

    def source(self, wanted: Wanted, role: Role, reader: str = "") -> Source:
        if self._is_busy:
            self._is_busy = False
            raise TryLaterError("too many queries run", "Try again later")
        return super().source(wanted, role, reader)


def test_requests_during_and_after_a_failed_one_get_the_same_channel(tmp_path: Path) -> None:
    LiveTable(tmp_path)
    wanted, role = Wanted(NAME), Role("admin", MaskKey(tmp_path))

    async def run() -> tuple[Channel, Channel]:
        hub = BusyHub(FolderTables(tmp_path / "warehouse"), Limits())
        try:
            failing, waiting = (asyncio.create_task(hub.channel(wanted, role)) for _ in range(2))
            with pytest.raises(TryLaterError):
                await failing
            later = await hub.channel(wanted, role)  # while the source of the waiting one is opened
            return await waiting, later
        finally:
            hub.stop()

    channels = asyncio.run(run())
    for channel in channels:
        channel._thread.join(10)
    assert [channel._thread.is_alive() for channel in channels] == [False, False]
    assert channels[0] is channels[1]
