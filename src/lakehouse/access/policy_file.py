"""Follows conf/access.yml, so that roles and tokens change while a service runs."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from lakehouse.access.policy import FILE, Policy, load_policy
from lakehouse.errors import MillraceError

_LOG = logging.getLogger(__name__)
_SECONDS = 1.0  # between two checks


class PolicyFile:
    """The policy as the file has it now. While the file is not valid, empty or gone, the one before stays.

    A file is read again once it is the same at two checks: half a file may be valid, and allow more.

    Args:
        conf: folder of the file.
        home: the home, which has the key of masked values.
        clock: seconds that never go back.

    Raises:
        MillraceError: if the file is not valid at first.
    """

    def __init__(self, conf: Path, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self._home = home
        self._clock = clock
        self._loaded = self._checked = self._state()
        self._policy = load_policy(conf, home)
        self._checked_at = clock()

    def current(self) -> Policy:
        """The policy; checks the file at most once a second."""
        now = self._clock()
        if now - self._checked_at >= _SECONDS:
            self._checked_at = now
            before, self._checked = self._checked, self._state()
            if self._checked != self._loaded and self._checked == before:
                self._loaded = self._checked
                self._reload()
        return self._policy

    def _reload(self) -> None:
        try:
            policy = load_policy(self._conf, self._home)
        except (MillraceError, OSError) as error:
            _LOG.warning("access stays as it was: %s", error)
            return
        if policy.is_empty and not self._policy.is_empty:
            _LOG.warning("access stays as it was: conf/%s has nothing", FILE)
            return
        self._policy = policy

    def _state(self) -> tuple[int, int, int] | None:
        try:
            state = (self._conf / FILE).stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino
