"""Follows a file of conf/, so that it can be changed while a service runs."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from lakehouse.errors import MillraceError

Content = TypeVar("Content")
_SECONDS = 1.0  # between two checks


class FollowedFile(Generic[Content]):
    """The current content of a file. While the file is invalid, empty or missing, its last content stays.

    Args:
        file: the file.
        load: reads it.
        is_empty: whether a content has no entries.
        kept: the message that is logged when the last content stays.
        twice: whether a changed file is read only once it is the same at two checks: half may be valid.
        clock: monotonic seconds.

    Raises:
        MillraceError: if the file is not valid at first.
    """

    def __init__(
        self,
        file: Path,
        load: Callable[[], Content],
        is_empty: Callable[[Content], bool],
        kept: str,
        *,
        twice: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = file
        self._load = load
        self._is_empty = is_empty
        self._kept = kept
        self._twice = twice
        self._clock = clock
        self._loaded = self._checked = self._state()
        self._content = load()
        self._checked_at = clock()

    def current(self) -> Content:
        """The current content; checks the file at most once a second."""
        now = self._clock()
        if now - self._checked_at >= _SECONDS:
            self._checked_at = now
            before, self._checked = self._checked, self._state()
            if self._checked != self._loaded and (self._checked == before or not self._twice):
                self._loaded = self._checked
                self._reload()
        return self._content

    def _reload(self) -> None:
        log = logging.getLogger(type(self).__module__)
        try:
            content = self._load()
        except (MillraceError, OSError) as error:
            log.warning("%s: %s", self._kept, error)
            return
        if self._is_empty(content) and not self._is_empty(self._content):
            log.warning("%s: conf/%s has nothing", self._kept, self._file.name)
            return
        self._content = content

    def _state(self) -> tuple[int, int, int] | None:
        try:
            state = self._file.stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino
