"""Reloads conf/sources.yml when it changes, so that a write key can be replaced without a restart."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from intake.sources import FILE, Acknowledge, Sources, load_sources
from lakehouse.followed_file import FollowedFile

_SECONDS = 0.5  # between two calls; the file is checked once a second at most


class SourcesFile(FollowedFile[Sources]):
    """The current sources. A changed file is read once it is the same at two checks: half may lack sources.

    Args:
        conf: folder of the file.
        acknowledge: where events are durable when they are acknowledged; None: each source's setting.
        clock: monotonic clock (s).
    """

    def __init__(
        self,
        conf: Path,
        acknowledge: Acknowledge | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def load() -> Sources:
            sources = load_sources(conf)
            return sources if acknowledge is None else sources.acknowledged_by(acknowledge)

        super().__init__(
            conf / FILE,
            load,
            lambda sources: not sources.declared,
            "the sources stay as they were",
            twice=True,
            clock=clock,
        )

    async def follow(self) -> None:
        """Check the file also while no requests come."""
        while True:
            self.current()
            await asyncio.sleep(_SECONDS)
