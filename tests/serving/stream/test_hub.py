"""A hub closes channels that nobody has used for a while."""

import asyncio
from pathlib import Path

from kit.live_table import NAME, LiveTable
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.readers.folder_tables import FolderTables
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
