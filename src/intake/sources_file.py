"""Reloads conf/sources.yml when it changes, so that a write key can be replaced without a restart."""

import time
from collections.abc import Callable
from pathlib import Path

from intake.sources import FILE, Acknowledge, Sources, load_sources
from lakehouse.followed_file import FollowedFile


class SourcesFile(FollowedFile[Sources]):
    """The current sources. A half-written file must not open the collector to all clients of this machine.

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
            twice=False,
            clock=clock,
        )
